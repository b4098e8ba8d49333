package node

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podworkers/prober"
	"github.com/podkeel/podkeel/podworkers/prober/check"
	"github.com/podkeel/podkeel/podworkers/prober/verdict"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop"
)

// buildProbes builds the prober, which runs the probes of containers.
func (b *builder) buildProbes() (err error) {
	n := b.node
	n.prober, err = prober.New(prober.Config{
		Check:        b.probeChecker(),
		Result:       n.recordProbeChangeAndNotifyLoop,
		DrainTimeout: n.config.Sync.DrainTimeout,
		Clock:        n.config.Clock,
		Jitter:       n.config.Jitter,
		Log:          n.config.Log,
		Recorder:     n.config.Recorder,
		Hooks:        n.config.Hooks.proberHooks(n),
	})
	return err
}

// probeChecker returns Config.Probes.Check. If the Config has none, it returns a checker that uses the runtime.
func (b *builder) probeChecker() prober.Checker {
	n := b.node
	if n.config.Probes.Check != nil {
		return n.config.Probes.Check
	}
	c := &runtimeChecker{features: n.runtime}
	c.connections = check.New(check.Config{Exec: c, GRPC: n.config.Probes.GRPC})
	return c
}

// runtimeChecker runs the checks of probes with the features that the runtime has at that moment. A
// runtime.HandlerRunner runs all checks itself. With any other runtime this process connects to the
// containers, and a runtime.Execer runs commands in them.
type runtimeChecker struct {
	features    runtime.FeatureReporter
	connections prober.Checker
}

// Check implements prober.Checker. It lets the runtime run the probe if the runtime is a HandlerRunner.
// Otherwise it makes the connection or runs the command itself.
func (c *runtimeChecker) Check(ctx context.Context, req prober.Request) (prober.CheckResult, string, error) {
	runner := c.features.Features().HandlerRunner
	if runner == nil {
		return c.connections.Check(ctx, req)
	}
	result, err := runner.RunHandler(ctx, runtime.RunHandlerRequest{ContainerID: check.BareID(req.ContainerID), Purpose: purposes[req.Kind]})
	switch {
	case err != nil:
		return 0, "", err
	case result.OK:
		return prober.Passed, result.Message, nil
	}
	return prober.Failed, result.Message, nil
}

// Exec implements runtime.Execer for exec probes. It returns check.ErrNoExec if the runtime cannot run
// commands.
func (c *runtimeChecker) Exec(ctx context.Context, req runtime.ExecRequest) (runtime.ExecResult, error) {
	execer := c.features.Features().Execer
	if execer == nil {
		return runtime.ExecResult{}, check.ErrNoExec
	}
	return execer.Exec(ctx, req)
}

// recordProbeChangeAndNotifyLoop adds an event to the history that a probe has changed between success and
// failure, and passes the result to the sync loop.
func (n *Node) recordProbeChangeAndNotifyLoop(r prober.Result) {
	n.journal.recordProbeChange(r)
	n.loop.AddProbeResult(syncloop.ProbeResult{
		UID: r.UID, ContainerID: r.ContainerID, Probe: syncloop.ProbeKind(r.Kind), Success: r.Success,
	})
}

// mayHaveRunningContainers reports whether containers of the pod may still run according to its worker. It
// stays true until the pod has terminated. Housekeeping stops the probes of other pods.
func (n *Node) mayHaveRunningContainers(uid types.UID) bool {
	return n.workers.View(uid).CouldHaveRunningContainers()
}

// purposes are the runtime's words for the kinds of probes.
var purposes = [...]runtime.Purpose{
	verdict.Liveness:  runtime.LivenessProbe,
	verdict.Readiness: runtime.ReadinessProbe,
	verdict.Startup:   runtime.StartupProbe,
}
