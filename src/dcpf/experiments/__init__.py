"""The experiments of the paper, and the leaderboard. May import everything but cli and __main__."""
