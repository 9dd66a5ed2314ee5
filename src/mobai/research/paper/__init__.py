"""The paper, reproduced: its tables and figures as declared runs."""
