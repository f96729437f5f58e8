"""Read what trainings have logged: TensorBoard's event files."""


def tensorboard_points(folder):
    """For each name, pairs of steps and values in the order in which TensorBoard shows them."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder), size_guidance={"scalars": 0}).Reload()
    # TensorBoard has 32 bits of a value.
    return {name: [(one.step, one.value) for one in events.Scalars(name)] for name in events.Tags()["scalars"]}
