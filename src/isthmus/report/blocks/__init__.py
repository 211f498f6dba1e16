"""What reports of traces, advice and fleets consist of, and how each format shows it."""
