package node

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/podworkers/prober"
	"github.com/podkeel/podkeel/podworkers/prober/check"
	"github.com/podkeel/podkeel/podworkers/prober/verdict"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop"
)

// buildProbes: how the containers are found out about.
func (n *Node) buildProbes() (err error) {
	n.prober, err = prober.New(prober.Config{
		Check:        n.checker(),
		Result:       n.believed,
		DrainTimeout: n.config.DrainTimeout,
		Clock:        n.config.Clock,
		Jitter:       n.config.Jitter,
		Log:          n.config.Log,
		Recorder:     n.config.Recorder,
		Hooks:        n.config.PartHooks.prober(n),
	})
	return err
}

// checker makes the checks: the caller's, the runtime itself if it answers for
// its containers, or connections from here and commands in the containers.
func (n *Node) checker() prober.Checker {
	if n.config.Check != nil {
		return n.config.Check
	}
	if handlerRunner := contain.Feature[runtime.HandlerRunner](n.guard, n.config.Runtime); handlerRunner != nil {
		return answered{handlerRunner}
	}
	return check.New(check.Config{Exec: contain.Feature[runtime.Execer](n.guard, n.config.Runtime), GRPC: n.config.GRPCProbes})
}

// believed passes a verdict on to the loop.
func (n *Node) believed(r prober.Result) {
	n.judged(r)
	n.loop.Probed(syncloop.ProbeResult{
		UID: r.UID, ContainerID: r.ContainerID, Probe: syncloop.ProbeKind(r.Kind), Success: r.Success,
	})
}

// probed: something of the pod may run.
func (n *Node) probed(uid types.UID) bool {
	return n.workers.View(uid).CouldHaveRunningContainers()
}

// answered is the Checker of a runtime that answers for its containers.
type answered struct{ runtime.HandlerRunner }

// purposes are the words of the runtime for the kinds of probes.
var purposes = [...]runtime.Purpose{
	verdict.Liveness:  runtime.LivenessProbe,
	verdict.Readiness: runtime.ReadinessProbe,
	verdict.Startup:   runtime.StartupProbe,
}

// Check implements prober.Checker.
func (a answered) Check(ctx context.Context, req prober.Request) (prober.CheckResult, string, error) {
	result, err := a.RunHandler(ctx, runtime.RunHandlerRequest{ContainerID: check.BareID(req.ContainerID), Purpose: purposes[req.Kind]})
	switch {
	case err != nil:
		return 0, "", err
	case result.OK:
		return prober.Passed, result.Message, nil
	}
	return prober.Failed, result.Message, nil
}
