package nodestatus_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/nodestatus"
)

// A node whose runtime has no network yet.
func ExampleStatus() {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	status := nodestatus.Status(&v1.NodeStatus{}, nodestatus.Facts{
		Now: now, RuntimeSeen: now, Runtime: runtime.RuntimeStatus{RuntimeReady: true, NetworkMessage: "no network plug-in"},
	})
	for _, c := range status.Conditions {
		fmt.Println(c.Type, c.Status, c.Message)
	}
	// Output: Ready False no network plug-in
}
