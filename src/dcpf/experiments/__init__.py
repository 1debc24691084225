"""The experiments of the paper, and the leaderboard."""
