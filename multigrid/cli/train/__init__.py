"""``multigrid train``: PPO with Stable-Baselines3 (`sb3`) or with Ray RLlib (`rllib`)."""
