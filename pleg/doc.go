// Package pleg observes a runtime and reports which pods have changed. It generates pod lifecycle
// events, and keeps the newest status of every pod. It is the only writer of its cache.
//
// # Two kinds of observation
//
// A listing shows all pods without details. It is cheap, may lag, and only decides which
// pods are inspected. An inspection (PodStatus) shows one pod in full. Only inspections
// fill the cache and make events.
//
// A pod is inspected if the listing disagrees with its cached status, if its last
// inspection failed, if it showed a container that had just failed (the reason may come
// later), or on request: by a blocked reader, by RequestRelist or by an event of the
// runtime. Each of these is a hint. A hint raises a number and does nothing else, so a full
// queue cannot lose one. Losing hints costs time only: listing and cache are compared until
// they agree.
//
//	          listing (every 1 s, or 30 s with a healthy stream of events)
//	             │ disagrees with the cache
//	events ──►   ▼                     at most 8 at a time, one per pod,
//	readers ──► pending ──► inspection each with a deadline of its own
//	requests ─►  ▲             │
//	             └── failed ───┤ 1 s later
//	                           ├──► cache ──► readers
//	                           └──► events ──► subscriptions
//
// # Freshness
//
// Observations are numbered when they begin. Mark returns the newest number. NewerThan
// returns what an observation with a higher number has shown. A reader that takes its mark
// after it changed something never gets an observation that began before. A listing counts
// as an observation of each pod with whose cached status it agrees, and of each pod that it
// does not show and that has no waiting reader. A listing may lag, so a caller that acted
// on a pod calls RequestRelist before Mark; after that only an inspection counts. NewerThan
// ends with its context, and returns ErrStopped when the generator has stopped. An error of
// an inspection reaches the waiting readers.
//
// Get returns the cached status, and ErrUnobserved for a pod that was never observed: at
// the start of an agent nothing may be concluded from that.
//
// # Subscriptions
//
// A Subscription holds each changed pod once, with its events merged into a set; Get has
// the newest status. It cannot overflow, and the generator waits for no consumer. Every
// visible change is announced: as Started, Died or Removed by the event table, otherwise as
// PodSync.
//
// # Bounds
//
// The period is 30 s while a stream of events is healthy and a listing has succeeded since
// it was opened, and 1 s otherwise. Each inspection has a deadline, and pods that hung use
// at most half of the slots. A broken stream is opened again after 100 ms, doubling to 5 s.
// More than ten hints of one pod within a second are handled together. A subscription
// announces one pod at most 32 times a second, and less often if the pod keeps changing.
//
// Run is called once and ends with its context. Hooks see every observation.
package pleg
