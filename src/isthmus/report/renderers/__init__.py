"""One module a format; each has a function `write`, and a line in `isthmus.report.formats`."""
