"""Images that CuPy takes from NumPy and gives back, through ordinary memory; fixed: through pinned memory."""

import cupy
import cupyx
import numpy as np
from python_program import Program, expect

# 48 MiB of floats.
HEIGHT, WIDTH, COLOURS = 2048, 2048, 3
IMAGES = 4


def main() -> None:
    """Take the images, and print."""
    program = Program(40, lambda: cupy.cuda.Device().synchronize())
    shape = (HEIGHT, WIDTH, COLOURS)
    images = [np.full(shape, float(number), np.float32) for number in range(IMAGES)]
    if program.fixed:
        pinned = [cupyx.empty_pinned(shape, np.float32) for _ in images]
        for place, image in zip(pinned, images, strict=True):
            place[:] = image
        images, result, device = pinned, cupyx.empty_pinned(shape, np.float32), cupy.empty(shape, cupy.float32)
    brighter = cupy.ElementwiseKernel("float32 x", "float32 y", "y = 2 * x + 1", "brighter")
    total = 0

    def step(number: int) -> None:
        nonlocal total
        image = images[number % IMAGES]
        program.count("h2d", image.nbytes)
        program.count("d2h", image.nbytes)
        if program.fixed:
            device.set(image)
            brighter(device).get(out=result)
            total += int(result[0, 0, 0])
        else:
            total += int(brighter(cupy.asarray(image)).get()[0, 0, 0])

    for number in range(3):
        step(number)
    with program.timed():
        for number in range(program.steps):
            step(number)
    seen = [*range(3), *range(program.steps)]
    expect(total == sum(2 * (number % IMAGES) + 1 for number in seen), "the first pixels")
    program.report(total)


if __name__ == "__main__":
    main()
