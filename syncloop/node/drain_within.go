package node

import (
	"context"
	"slices"

	"github.com/podkeel/podkeel/podworkers"
)

// DrainWithin shortens the end of all pods to a grace of so many seconds, at least 1, and
// returns when none runs any more. Besides that it is Drain: it may follow a Drain
// whose context has ended, or one that still waits, which then returns sooner. A pod
// whose own grace is shorter keeps that, and so does one that was dropped before: the
// error names it if ctx ends first.
func (n *Node) DrainWithin(ctx context.Context, graceSeconds int64) error {
	if err := n.shut(ctx); err != nil {
		return err
	}
	return await(ctx, slices.Concat(n.endWanted(&graceSeconds), n.terminalStatuses(&graceSeconds)))
}

// within shortens a kill, if there is a grace.
func within(options podworkers.UpdatePodOptions, graceSeconds *int64) podworkers.UpdatePodOptions {
	if graceSeconds != nil {
		if options.KillPodOptions == nil {
			options.KillPodOptions = &podworkers.KillPodOptions{}
		}
		options.KillPodOptions.PodTerminationGracePeriodSecondsOverride = graceSeconds
	}
	return options
}
