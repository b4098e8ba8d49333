// Package claims finds where on a node the volumes of persistent volume claims are, by an API
// server.
//
//	source, err := claims.New(claims.Config{Server: server, NodeName: "node-1"})
//	what, readOnly, err := source.Source(ctx, pod, volume)
//
// # The contract
//
//   - The volume of a claim can be had if it is of the kind hostPath or local, the claim and
//     the volume are bound to each other, and the node affinity of the volume selects this
//     node. Any other claim is an error that says what is the matter.
//   - A volume with the access mode ReadWriteOncePod is one pod's until Forget is called for
//     that pod; for another it is an error, as in the kubelet.
//   - The claim of an ephemeral volume has to be the pod's own.
//   - A pod that has not been started gets no claim that is being deleted. One that runs keeps
//     it.
//   - What a pod was told stays true for it, and costs no further call, until Forget is called:
//     pods are not moved to other volumes. Errors are not kept. The caller's retries are
//     the bound on calls: two per volume and try, three if the volume has a node affinity.
package claims
