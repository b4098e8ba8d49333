package node

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop"
)

// admitFeatures refuses a pod that asks for what the node's syncer can not do,
// with the field's name. What is merely without effect is said in a warning
// event, for each admission once.
func admitFeatures(features podsync.Features, events runtime.EventRecorder) syncloop.PodAdmitHandler {
	return syncloop.PodAdmitAloneFunc(func(attrs syncloop.PodAdmitAttributes) syncloop.PodAdmitResult {
		rejected, ignored := podsync.Unsupported(attrs.Pod, features)
		if len(rejected) > 0 {
			return syncloop.PodAdmitResult{Reason: "UnsupportedField", Message: "this node can not honour " + sentence(rejected)}
		}
		if len(ignored) > 0 && events != nil && !attrs.Trial {
			events.Event(attrs.Pod, v1.EventTypeWarning, "IgnoredField", "without effect on this node: "+sentence(ignored))
		}
		return syncloop.PodAdmitResult{Admit: true}
	})
}

func sentence(problems []podsync.Problem) string {
	parts := make([]string, len(problems))
	for i, p := range problems {
		parts[i] = fmt.Sprintf("%s (%s)", p.Field, p.Why)
	}
	return strings.Join(parts, "; ")
}
