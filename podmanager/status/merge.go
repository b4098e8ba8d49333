package status

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/status/reconcile"
)

// Merge is the status to store where others write conditions too: mine, with the
// conditions that are not the node's as they are in theirs. It is for sinks.
func Merge(theirs, mine v1.PodStatus) v1.PodStatus { return reconcile.Merge(&theirs, &mine) }
