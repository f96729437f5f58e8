"""What is measured once and published: speed, other environments, planners, learners. It is not in the wheel."""
