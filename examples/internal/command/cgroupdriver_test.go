package command

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/runtime/cgroups"
)

// TestDecideDriver has all combinations of the flag, the report of the runtime and the host.
func TestDecideDriver(t *testing.T) {
	for _, c := range []struct {
		configured, reported string
		hostHasSystemd       bool
		want                 cgroupDriver
	}{
		{"", "", false, cgroupDriver{"cgroupfs", driverAssumed, ""}},
		{"", "", true, cgroupDriver{"systemd", driverAssumed, ""}},
		{"cgroupfs", "", false, cgroupDriver{"cgroupfs", driverConfigured, ""}},
		{"cgroupfs", "", true, cgroupDriver{"cgroupfs", driverConfigured, ""}},
		{"systemd", "", false, cgroupDriver{"systemd", driverConfigured, ""}},
		{"systemd", "", true, cgroupDriver{"systemd", driverConfigured, ""}},
		{"", "cgroupfs", false, cgroupDriver{"cgroupfs", driverReported, ""}},
		{"", "cgroupfs", true, cgroupDriver{"cgroupfs", driverReported, ""}},
		{"", "systemd", false, cgroupDriver{"systemd", driverReported, ""}},
		{"", "systemd", true, cgroupDriver{"systemd", driverReported, ""}},
		{"cgroupfs", "cgroupfs", false, cgroupDriver{"cgroupfs", driverReported, ""}},
		{"cgroupfs", "cgroupfs", true, cgroupDriver{"cgroupfs", driverReported, ""}},
		{"systemd", "systemd", false, cgroupDriver{"systemd", driverReported, ""}},
		{"systemd", "systemd", true, cgroupDriver{"systemd", driverReported, ""}},
		{"cgroupfs", "systemd", false, cgroupDriver{"systemd", driverReported, "cgroupfs"}},
		{"cgroupfs", "systemd", true, cgroupDriver{"systemd", driverReported, "cgroupfs"}},
		{"systemd", "cgroupfs", false, cgroupDriver{"cgroupfs", driverReported, "systemd"}},
		{"systemd", "cgroupfs", true, cgroupDriver{"cgroupfs", driverReported, "systemd"}},
	} {
		assert.Equal(t, c.want, decideDriver(c.configured, c.reported, c.hostHasSystemd), "%+v", c)
	}
}

// TestCgroupDriver_LogWarnings: a warning names an assumption as one, and names the flag only where the flag helps.
func TestCgroupDriver_LogWarnings(t *testing.T) {
	ready := cgroups.Capabilities{State: cgroups.Ready}
	unusable := cgroups.Capabilities{State: cgroups.Missing, Reason: "no controllers"}
	const none = "level=WARN msg=\"pods get no cgroups of their own: only the limits of their containers apply\" reason="
	const assumed = "level=WARN msg=\"the runtime does not report its cgroup driver; systemd is assumed, so pods get no cgroups of their own; " +
		"if the driver is cgroupfs, set --cgroup-driver=cgroupfs\" err=\"no driver\"\n"
	const ignored = "level=WARN msg=\"the runtime reports another cgroup driver than --cgroup-driver names; the reported one is used\" "
	for _, c := range []struct {
		driver cgroupDriver
		host   cgroups.Capabilities
		want   string
	}{
		{cgroupDriver{"cgroupfs", driverReported, ""}, ready, ""},
		{cgroupDriver{"cgroupfs", driverConfigured, ""}, ready, ""},
		{cgroupDriver{"cgroupfs", driverAssumed, ""}, ready, ""},
		{cgroupDriver{"cgroupfs", driverConfigured, ""}, unusable, none + "\"no controllers\"\n"},
		{cgroupDriver{"systemd", driverReported, ""}, ready, none + "\"the runtime has the cgroup driver systemd\"\n"},
		{cgroupDriver{"systemd", driverReported, ""}, unusable, none + "\"the runtime has the cgroup driver systemd\"\n"},
		{cgroupDriver{"systemd", driverConfigured, ""}, ready, none + "\"--cgroup-driver is systemd\"\n"},
		{cgroupDriver{"systemd", driverAssumed, ""}, ready, assumed},
		{cgroupDriver{"systemd", driverAssumed, ""}, unusable, none + "\"no controllers\"\n"},
		{cgroupDriver{"cgroupfs", driverReported, "systemd"}, ready, ignored + "reported=cgroupfs flag=systemd\n"},
		{cgroupDriver{"systemd", driverReported, "cgroupfs"}, ready,
			ignored + "reported=systemd flag=cgroupfs\n" + none + "\"the runtime has the cgroup driver systemd\"\n"},
	} {
		var b strings.Builder
		log := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
		c.driver.logWarnings(log, c.host, errors.New("no driver"))
		assert.Equal(t, c.want, b.String(), "%+v", c)
	}
}
