"""The paper, reproduced, and the audit that tries to break the guarantee."""
