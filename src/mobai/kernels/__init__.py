"""The only room with numba: arrays in, arrays out, nothing imported from above."""
