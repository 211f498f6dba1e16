"""A test of ReFrame: rates of each device, held against what is normal for it; `reframe -c reframe_check.py -r`."""

import json
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_before, sanity_function


@rfm.simple_test
class IsthmusCheck(rfm.RunOnlyRegressionTest):
    """Fails where `isthmus check` says FAULT, and reports the rates of pinned copies."""

    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "isthmus"
    executable_opts = ["check", "--style", "json"]

    @sanity_function
    def no_fault(self):
        """No device is at fault."""
        return sn.assert_not_in("FAULT", [each["level"] for each in self.devices()])

    def devices(self):
        """What the check printed, a device each."""
        return json.loads((Path(self.stagedir) / sn.evaluate(self.stdout)).read_text("utf-8"))

    @run_before("performance")
    def rates_of_each_device(self):
        """GB/s of pinned copies in each direction, and in both at once."""
        for device in self.devices():
            for rate in device["rates"]:
                if rate["memory"] == "pinned":
                    name = f"{device['device'].replace(':', '')}_{rate['direction']}"
                    value = rate["bytes_per_second"] / 1e9
                    self.perf_variables[name] = sn.make_performance_function(sn.defer(value), "GB/s")
