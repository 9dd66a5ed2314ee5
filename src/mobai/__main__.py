"""``python -m mobai``: the command line."""

from mobai.cli import main

if __name__ == "__main__":
    main()
