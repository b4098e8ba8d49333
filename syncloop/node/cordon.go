package node

// Cordon marks the node unschedulable, as kubectl cordon does: from now on Fits says so of
// every pod that does not tolerate the taint node.kubernetes.io/unschedulable. Nothing else
// changes: a kubelet admits a pod that is bound to a cordoned node, and so does this node,
// be it by Apply or from any other source. What runs goes on. To refuse new pods use Drain.
//
// On a node that is joined to an API server spec.unschedulable of its object, which kubectl
// cordon sets, has the same effect; Cordon is not told to the API server. A restarted node
// is not cordoned. Cordon never blocks and may be called from anywhere, any number of times.
func (n *Node) Cordon() { n.cordoned.Store(true) }

// Uncordon takes Cordon back. It never blocks and may be called from anywhere.
func (n *Node) Uncordon() { n.cordoned.Store(false) }

// Cordoned reports whether Cordon was called last, and not Uncordon.
func (n *Node) Cordoned() bool { return n.cordoned.Load() }

// Undrain takes back that a Drain or a Shutdown refuses new pods: they are admitted again. Pods that the
// drain has told to end, or that were rejected because of it, stay so: the host program
// applies others, with UIDs of their own, or deletes them first. A Drain that still waits
// goes on waiting for the pods that it found. Without a Drain it does nothing. It never
// blocks and may be called from anywhere.
func (n *Node) Undrain() {
	n.draining.Store(false)
	n.shutdown.Store(false)
}
