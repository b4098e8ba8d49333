// Package pleg observes a runtime and reports which pods have changed. It generates pod lifecycle
// events, and caches the newest status of every pod. It is the only writer of its cache.
//
// # Two kinds of observation
//
// A listing shows all pods without details. It is cheap, may be out of date, and only decides which
// pods are inspected. An inspection (PodStatus) shows one pod in full. Only inspections fill the
// cache and generate events.
//
// A pod is inspected in these cases:
//
//   - The listing differs from its cached status.
//   - Its last inspection failed.
//   - Its last inspection showed a container that had just failed. The runtime may add the
//     reason (OOMKilled) later.
//   - A blocked reader, RequestRelist or an event of the runtime requests it.
//
// A request only raises a number in the pod's record, so there is no queue of requests that could
// overflow. If an event of the runtime is lost, the change is found later: each listing is compared
// with the cache, and a pod that differs is inspected until both agree.
//
//	          listing (every 1 s, or every 30 s with a healthy event stream)
//	             │ differs from the cache
//	events ──►   ▼                     at most 8 at a time, one per pod,
//	readers ──► pending ──► inspection each with its own deadline
//	requests ─►  ▲             │
//	             └── failed ───┤ 1 s later
//	                           ├──► cache ──► readers
//	                           └──► events ──► subscriptions
//
// # Freshness
//
// Observations are numbered when they begin. Mark returns the newest number. NewerThan waits for an
// observation of a pod with a number above a mark, and returns its result. So a reader that takes
// its mark after it changed the pod never gets an observation from before the change.
//
// A successful listing counts as an observation of a pod in two cases: the listing agrees with the
// pod's cached status, or the pod is in neither the listing nor the cache. A pod with a pending
// inspection, for example for a waiting reader, must be inspected. A listing may be out of date, so
// a caller that has just changed a pod calls RequestRelist before Mark; then only an inspection
// counts.
//
// NewerThan returns an error when its context ends, and ErrStopped when the generator has stopped.
// If an inspection fails, the waiting readers get its error.
//
// Get returns the cached status. For a pod that was never observed it returns ErrUnobserved: at the
// start of an agent such a pod may be running.
//
// # Subscriptions
//
// A Subscription holds each changed pod once, with its events merged into a set; Get has the newest
// status. It cannot overflow, and the generator waits for no consumer. Every visible change is
// announced: as Started, Died or Removed by the event table, otherwise as PodSync.
//
// # Bounds
//
// The listing period is 30 s while an event stream is healthy and a listing has succeeded since the
// stream was opened, and 1 s otherwise. Each inspection has a deadline. Pods whose last inspection
// timed out use at most half of the slots. A broken stream is opened again after 100 ms; the pause
// doubles up to 5 s. If a pod has more than ten runtime events within a period, one inspection at
// the end of the period serves the rest. A subscription announces one pod at most 32 times per
// period, and less often if the pod keeps changing.
//
// Run is called once and returns when its context ends. Hooks get every observation.
package pleg
