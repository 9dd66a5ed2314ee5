"""What an answer is: the best arm of every objective, or the Pareto set, the best k, a ranking.

A goal says which claims about pairs of arms its answer needs, and at which level; one file each. The best arm of every
objective is what the stopping rules decide.
"""

from mobai.rules.goals.base import Claims, Goal, GoalAnswer
from mobai.rules.goals.catalogue import goal_of
from mobai.rules.goals.pareto import Pareto
from mobai.rules.goals.ranking import Ranking
from mobai.rules.goals.top import Top

__all__ = ["Claims", "Goal", "GoalAnswer", "Pareto", "Ranking", "Top", "goal_of"]
