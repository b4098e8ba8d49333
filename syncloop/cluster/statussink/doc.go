// Package statussink brings the statuses of pods to an API server (experimental). It is a Sink for a Sender of package
// podmanager/status, over the patches of package patch.
//
//	store := status.New(status.Config{}) // store.SetPodStatus(pod, v1.PodStatus{...})
//	sink, err := statussink.New(statussink.Config{Pods: server.Pods(), Contact: c, StatusWritten: pods.RecordWrite})
//	sender, err := status.NewSender(status.SenderConfig{Store: store, Sink: sink})
//	sink.SetResend(sender.Resend, sender.ResendNow)
//	c.OnAnswer(sender.RetryNow)
//
// Config.Pods is that of package client, for a rest.Config of client-go, of package apiservertest, or
// four methods of your own over a clientset. Without package feed call Observe for each pod that
// an informer shows, and Gone for each that it deletes.
//
// The sink is the Observer of feed.Pods, and so knows the state at the server: it sends
// differences only, reads no pod before it writes, and sends a status again when another
// writer has changed what the node owns.
//
// # The contract
//
//   - A status goes to the pod with the UID that the node has run, or to the mirror pod of a
//     static pod. Of a static pod without one it is not sent: status.ErrNotYet. When the
//     mirror is shown, the status is sent.
//   - Nothing that others own is written; see package patch.
//   - A pod that is gone, or whose name another one has, has nothing left to be sent.
//   - A patch has the version that is known as its lock. Only where another writer was first the
//     pod is read, and the patch made anew. A pod that was deleted with force is not written to.
//   - If the answer to a patch was lost, the next one has everything, as the state at the
//     server is not known.
//   - The final delete follows in the same Send as soon as the status is Finished and the
//     server has acknowledged a terminal phase of a pod that is being deleted. It has the UID
//     as precondition and is not repeated once it was accepted.
//   - A status that was made for a newer version of the pod than the server has is not sent. The
//     server's data were restored from a backup then. After an outage the pod is read before the
//     final delete, for the same reason.
//   - What the server does not take over from a status is not sent again until the status or
//     the state at the server differs.
package statussink
