// Package statussink writes the statuses of pods to an API server (experimental). It is a Sink for a Sender of
// package podmanager/status, and sends the patches of package patch.
//
//	store := status.New(status.Config{}) // store.SetPodStatus(pod, v1.PodStatus{...})
//	sink, err := statussink.New(statussink.Config{Pods: server.Pods(), Contact: c, StatusWritten: pods.RecordWrite})
//	sender, err := status.NewSender(status.SenderConfig{Store: store, Sink: sink})
//	sink.SetResend(sender.Resend, sender.ResendNow)
//	c.OnOutageEnd(sender.RetryNow)
//
// Config.Pods comes from package client with a rest.Config, from package apiservertest, or is an own type with
// four methods over a clientset. A program without package feed calls Observe for each pod that an informer
// adds or updates, and Gone for each pod that it deletes.
//
// The sink is the Observer of feed.Pods, so it knows the server's state and seldom reads a pod. It sends only
// differences, and sends a status again if another writer has changed a field of the node.
//
// # The contract
//
//   - A status goes to the pod with the UID that the node has run, or to the mirror pod of a static pod. If
//     the static pod has no mirror pod yet, Send returns status.ErrNotYet. The sink sends the status when the
//     watch shows the mirror pod.
//   - The sink changes no field of other writers; see package patch.
//   - If a pod is gone, or another pod has its name, there is nothing to send.
//   - A patch has the known resource version as a precondition. After a conflict with another writer the sink
//     reads the pod and computes the patch again. It does not write to a force-deleted pod.
//   - If the response to a patch was lost, the next patch has all fields, because the server's state is
//     unknown.
//   - If the status is Finished, the pod is being deleted, and the server has acknowledged a terminal phase,
//     the same Send makes the final delete. It has the UID as precondition. The sink repeats an accepted
//     delete only if the server later has an older version of the pod: a restore has lost the delete.
//   - If a status was made for a newer version of the pod than the known one, the sink first reads the pod. If
//     the server does have an older version, it was restored from a backup, and the sink does not send the
//     status. After an outage the sink also reads the pod before the final delete.
//   - If the server does not adopt a part of a status, the sink does not send that part again until the
//     status or the server's state changes.
package statussink
