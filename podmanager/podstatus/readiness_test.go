package podstatus_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// Every combination of role and facts is decided by the four rules of DecideReadiness.
func TestDecideReadiness(t *testing.T) {
	bit := func(n, i int) bool { return n>>i&1 == 1 }
	for _, role := range []podstatus.ContainerRole{podstatus.RoleLasting, podstatus.RoleInit, podstatus.RoleEphemeral} {
		for n := range 32 {
			f := podstatus.ReadinessFacts{
				Role: role, Running: bit(n, 0), Succeeded: bit(n, 1), StartupPassed: bit(n, 2), ReadinessPassed: bit(n, 3), Unreachable: bit(n, 4),
			}
			want := podstatus.Readiness{}
			switch role {
			case podstatus.RoleLasting:
				want.Started = f.Running && f.StartupPassed
				want.Ready = f.Running && f.StartupPassed && f.ReadinessPassed && !f.Unreachable
			case podstatus.RoleInit:
				want = podstatus.Readiness{Started: f.Running && f.StartupPassed, Ready: f.Succeeded}
			}
			if got := podstatus.DecideReadiness(f); got != want {
				t.Errorf("DecideReadiness(%+v) = %+v, want %+v", f, got, want)
			}
		}
	}
}

// Each function that writes Started and Ready is checked from every status that a container can have.
func TestReadinessOfAStatusAfterEachChange(t *testing.T) {
	const running, exited = "running", "exited"
	var probe v1.Probe
	write := func(spec v1.Container) func(*v1.ContainerStatus) bool {
		return func(c *v1.ContainerStatus) bool { podstatus.SetUnprobed(&spec, c); return true }
	}
	always := func(set func(*v1.ContainerStatus)) func(*v1.ContainerStatus) bool {
		return func(c *v1.ContainerStatus) bool { set(c); return true }
	}
	readiness := func(passed bool) func(*v1.ContainerStatus) bool {
		return func(c *v1.ContainerStatus) bool { return podstatus.SetReadinessResult(c, passed) }
	}
	startup := func(passed bool) func(*v1.ContainerStatus) bool {
		return func(c *v1.ContainerStatus) bool { return podstatus.SetStartupResult(c, passed) }
	}
	probed := func(role podstatus.ContainerRole, startupPassed, readinessPassed bool) func(*v1.ContainerStatus) bool {
		return always(func(c *v1.ContainerStatus) { podstatus.SetProbed(role, c, startupPassed, readinessPassed) })
	}
	for _, c := range []struct {
		name, state          string
		started              *bool
		ready                bool
		change               func(*v1.ContainerStatus) bool
		wantStarted          *bool
		wantReady, unchanged bool
	}{
		{"the readiness probe succeeds", running, new(true), false, readiness(true), new(true), true, false},
		{"the readiness probe succeeds again", running, new(true), true, readiness(true), new(true), true, true},
		{"the readiness probe fails", running, new(true), true, readiness(false), new(true), false, false},
		{"the readiness probe fails again", running, new(true), false, readiness(false), new(true), false, true},
		{"the readiness probe succeeds before the startup probe", running, new(false), false, readiness(true), new(false), false, true},
		{"the readiness probe succeeds and Started is unknown", running, nil, false, readiness(true), nil, true, false},
		{"the readiness probe succeeds after the exit", exited, new(true), false, readiness(true), new(true), false, true},
		{"the readiness probe fails after the exit", exited, new(false), true, readiness(false), new(false), false, false},
		{"the startup probe succeeds", running, new(false), false, startup(true), new(true), false, false},
		{"the startup probe succeeds and Started is unknown", running, nil, true, startup(true), new(true), true, false},
		{"the startup probe succeeds again", running, new(true), true, startup(true), new(true), true, true},
		{"the startup probe succeeds after the exit", exited, new(false), false, startup(true), new(false), false, true},
		{"the startup probe fails", running, new(true), true, startup(false), new(false), false, false},
		{"the startup probe fails and Started is unknown", running, nil, false, startup(false), new(false), false, false},
		{"the startup probe fails after the exit", exited, new(true), true, startup(false), new(false), false, false},
		{"no result, startup probe", running, new(true), true, write(v1.Container{StartupProbe: &probe}), new(false), false, false},
		{"no result, readiness probe", running, new(true), true, write(v1.Container{ReadinessProbe: &probe}), new(true), false, false},
		{"no result, no probe", running, new(true), true, write(v1.Container{LivenessProbe: &probe}), new(true), true, false},
		{"probed and passed", running, nil, false, probed(podstatus.RoleLasting, true, true), new(true), true, false},
		{"probed and not ready", running, nil, false, probed(podstatus.RoleLasting, true, false), new(true), false, false},
		{"probed and not started", running, nil, false, probed(podstatus.RoleLasting, false, true), new(false), false, false},
		{"probed and exited", exited, new(true), true, probed(podstatus.RoleLasting, true, true), new(false), false, false},
		{"an init container runs", running, nil, false, probed(podstatus.RoleInit, true, true), new(true), false, false},
		{"an init container has succeeded", exited, nil, false, probed(podstatus.RoleInit, true, true), new(false), true, false},
		{"the postStart hook is pending", running, new(true), true, always(podstatus.SetNotStarted), new(false), false, false},
		{"the start is not published", running, new(true), true, always(podstatus.SetReadinessUnknown), nil, false, false},
		{"the container stopped", exited, new(true), true, always(podstatus.SetStopped), new(false), false, false},
		{"a container without Started stopped", exited, nil, true, always(podstatus.SetStopped), nil, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			status := v1.ContainerStatus{Started: c.started, Ready: c.ready}
			if c.state == running {
				status.State.Running = &v1.ContainerStateRunning{}
			} else {
				status.State.Terminated = &v1.ContainerStateTerminated{}
			}
			if changed := c.change(&status); changed == c.unchanged {
				t.Errorf("changed is %t, want %t", changed, !c.unchanged)
			}
			if (status.Started == nil) != (c.wantStarted == nil) || status.Started != nil && *status.Started != *c.wantStarted || status.Ready != c.wantReady {
				t.Errorf("Started and Ready are %v and %t, want %v and %t", formatBool(status.Started), status.Ready, formatBool(c.wantStarted), c.wantReady)
			}
		})
	}
}

// A container that runs since before this process has started if either source shows that, and is
// ready if the newer source does.
func TestMergePublished(t *testing.T) {
	for _, c := range []struct{ older, newer, want podstatus.Readiness }{
		{podstatus.Readiness{Started: true, Ready: true}, podstatus.Readiness{}, podstatus.Readiness{Started: true}},
		{podstatus.Readiness{}, podstatus.Readiness{Started: true, Ready: true}, podstatus.Readiness{Started: true, Ready: true}},
		{podstatus.Readiness{Started: true}, podstatus.Readiness{Ready: true}, podstatus.Readiness{Started: true, Ready: true}},
		{podstatus.Readiness{}, podstatus.Readiness{}, podstatus.Readiness{}},
	} {
		if got := podstatus.MergePublished(c.older, c.newer); got != c.want {
			t.Errorf("MergePublished(%+v, %+v) = %+v, want %+v", c.older, c.newer, got, c.want)
		}
	}
}

func formatBool(b *bool) string {
	switch {
	case b == nil:
		return "nil"
	case *b:
		return "true"
	}
	return "false"
}
