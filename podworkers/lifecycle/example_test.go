package lifecycle_test

import (
	"fmt"

	"github.com/podkeel/podkeel/podworkers/lifecycle"
)

// One pod's whole lifecycle: it is created, synced, killed, stopped, cleaned up, and forgotten when
// it is no longer desired.
func ExampleNew() {
	table := lifecycle.New()
	var effects lifecycle.Effects
	show := func(what string) {
		fmt.Printf("%s:", what)
		for _, e := range effects {
			fmt.Print(" ", e.Op)
		}
		fmt.Println()
		effects = effects[:0]
	}
	pod := lifecycle.Update{
		UID: "7d9c", Type: lifecycle.SyncPodCreate, Subject: lifecycle.ConfigPod,
		Facts: lifecycle.Facts{Source: "api", SpecGrace: lifecycle.Seconds(30)},
	}
	run := func(result lifecycle.Result) {
		ref, _ := table.Find(pod.UID)
		work, _ := table.StartPodSync(ref)
		table.Done(work.Ref, work.Incarnation, result, &effects)
		show(fmt.Sprint(work.Kind, " ", result))
	}

	_, _ = table.Update(pod, &effects)
	show("create")
	run(lifecycle.Succeeded)
	_, _ = table.Kill(pod, &effects)
	show("kill")
	run(lifecycle.Failed)
	table.Due(pod.UID, &effects)
	show("due")
	run(lifecycle.Succeeded)
	run(lifecycle.Succeeded)
	fmt.Println("finished:", table.View(pod.UID).ShouldPodBeFinished())
	table.SyncKnown(lifecycle.DesiredSnapshot{Generation: table.Generation(), AllSources: true}, nil, &effects)
	show("nothing desired")

	// Output:
	// create: wake
	// SyncPod succeeded: requeue
	// kill: phase wake
	// SyncTerminatingPod failed: requeue
	// due: wake
	// SyncTerminatingPod succeeded: phase resolve wake
	// SyncTerminatedPod succeeded: phase
	// finished: true
	// nothing desired: forget
}
