"""What `multigrid rollout` is made of: worlds, their play, figures with intervals, and films."""
