package command

import (
	"log/slog"

	"github.com/podkeel/podkeel/runtime/cgroups"
	"github.com/podkeel/podkeel/runtime/cri"
)

// driverSource is where the name of the cgroup driver comes from.
type driverSource string

// The sources of the cgroup driver.
const (
	driverReported   driverSource = "reported"   // by the runtime
	driverConfigured driverSource = "configured" // by --cgroup-driver
	driverAssumed    driverSource = "assumed"    // from the host
)

// cgroupDriver is the cgroup driver that the agent expects of the runtime.
type cgroupDriver struct {
	name   string
	source driverSource
	// ignored is the value of --cgroup-driver if the runtime reports the other driver. Otherwise it is "".
	ignored string
}

// decideDriver returns the cgroup driver. As in the kubelet, the driver that the runtime reports overrides the configured
// one. If the runtime reports none, the configured driver counts. Without both, systemd is assumed on a host that systemd
// manages, and cgroupfs on every other host.
func decideDriver(configured, reported string, hostHasSystemd bool) cgroupDriver {
	switch {
	case reported != "" && configured != "" && configured != reported:
		return cgroupDriver{reported, driverReported, configured}
	case reported != "":
		return cgroupDriver{reported, driverReported, ""}
	case configured != "":
		return cgroupDriver{configured, driverConfigured, ""}
	case hostHasSystemd:
		return cgroupDriver{cri.CgroupDriverSystemd, driverAssumed, ""}
	}
	return cgroupDriver{cri.CgroupDriverCgroupfs, driverAssumed, ""}
}

// logWarnings logs that --cgroup-driver has no effect, and why pods get no cgroups. It logs nothing if pods get cgroups of
// the configured driver. err is why the runtime reports no driver, or nil.
func (d cgroupDriver) logWarnings(log *slog.Logger, host cgroups.Capabilities, err error) {
	if d.ignored != "" {
		log.Warn("the runtime reports another cgroup driver than --cgroup-driver names; the reported one is used", "reported", d.name, "flag", d.ignored)
	}
	ready, systemd := host.State == cgroups.Ready, d.name == cri.CgroupDriverSystemd
	if ready && !systemd {
		return
	}
	reason := host.Reason
	switch {
	case systemd && d.source == driverReported:
		reason = "the runtime has the cgroup driver systemd"
	case systemd && d.source == driverConfigured:
		reason = "--cgroup-driver is systemd"
	case systemd && ready:
		log.Warn("the runtime does not report its cgroup driver; systemd is assumed, so pods get no cgroups of their own; "+
			"if the driver is cgroupfs, set --cgroup-driver=cgroupfs", "err", err)
		return
	}
	log.Warn("pods get no cgroups of their own: only the limits of their containers apply", "reason", reason)
}
