// Package pleg observes a runtime and reports which pods have changed. It generates pod lifecycle
// events, and caches the newest status of every pod. It is the only writer of its cache.
//
// # Two kinds of observation
//
// A listing shows all pods without details. It is cheap, may be out of date, and only decides which
// pods are inspected. An inspection (PodStatus) shows one pod in full. Only inspections fill the
// cache and generate pod lifecycle events.
//
// The status of an inspection is amended before it is cached. A container that has exited stays
// exited, with its old status, even if the runtime reports it as running again. A pod without a
// ready sandbox keeps the last addresses of its newest sandbox.
//
// A pod is inspected in these cases:
//
//   - The listing differs from its cached status.
//   - Its last inspection failed.
//   - Its last inspection showed a container that had just failed. The runtime may add the
//     reason (OOMKilled) later.
//   - A blocked reader, RequestRelist or an event of the runtime requests it.
//
// A request raises a number in the pod's record and puts the record into a queue, once. So the
// queue is never longer than the number of pods. If an event of the runtime is lost, the change is
// found later: each listing is compared with the cache, and a pod that differs is inspected until
// both agree. An event may also name an unknown pod, that is, a pod without a record. The
// number of inspections of unknown pods is limited (see unknown_pods.go).
//
//	listing (1 s after the end of the last, or 30 s with a good event stream)
//	                     │ differs from the cache
//	                     ▼                     at most 8 at a time, one per pod,
//	runtime events ──► pending ──► inspection  each with its own deadline
//	blocked readers ─►   ▲             │
//	RequestRelist ───►   └── failed ───┤ within 1 s, or after a listing
//	                                   ├──► amended status ──► cache ──► readers
//	                                   └──► pod lifecycle events ──► subscriptions
//
// # Freshness
//
// Observations are numbered when they begin. Mark returns the newest number. NewerThan waits for an
// observation of a pod with a number above a mark, and returns its result. So the observation began
// after the mark was taken. A successful listing counts as an observation of a pod in two cases:
// the listing agrees with the pod's cached status, or the pod is in neither the listing nor the
// cache.
//
// A listing may show an older state than its number suggests. So a caller that has changed a pod
// calls RequestRelist and then Mark; then only an inspection counts, and NewerThan never returns
// the state from before the change.
//
// NewerThan returns an error when its context ends, and ErrStopped when the generator has stopped.
// If an inspection fails, the waiting readers get its error.
//
// Get returns the cached status. For a pod that was not inspected yet it returns ErrUnobserved: at
// the start of an agent such a pod may be running.
//
// # Subscriptions
//
// A Subscription holds each changed pod once, with its events merged into a set; Get has the newest
// status. It cannot overflow, and the generator waits for no consumer. Every visible change is
// announced: as ContainerStarted, ContainerDied or ContainerRemoved, otherwise as PodSync.
//
// # Bounds
//
// The pause after a listing is RelistPeriod (1 s). It is SafetyPeriod (30 s) while the event stream
// is good: it has delivered an event or been open for 10 s, and the last listing succeeded and
// began after the stream was opened. Each inspection has a deadline. Pods whose last inspection
// timed out are inspected only when no other pod is queued, in at most half of the slots. A broken
// stream is opened again after 100 ms; the pause doubles up to 5 s.
//
// Two limits count per RelistPeriod. If the runtime sends more than ten events of a pod, one later
// inspection serves the rest. A pod is announced at most 32 times, to all subscriptions alike, and
// less often if the pod keeps changing. Events above the limit are held back, and announced after a
// later inspection of the pod.
//
// Run is called once and returns when its context ends. Hooks get every observation except those
// that the end of Run interrupts.
package pleg
