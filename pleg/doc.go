// Package pleg generates pod lifecycle events: it observes a runtime, keeps
// the newest status of every pod, and says which pods have changed. It is the
// only writer of what it keeps.
//
// # Two kinds of observation
//
// A listing shows all pods, shallowly. It is cheap, may lag, and decides only
// who deserves a look. An inspection (PodStatus) shows one pod in full. Only
// inspections fill the cache and make events.
//
// A pod is inspected if the listing disagrees with its cached status, if the
// last inspection failed, if it showed a container that had just failed (why may
// be heard later than that), or if somebody asked: a blocked reader,
// RequestRelist, an event of the runtime. All of these are hints. They raise a
// number and nothing else, so none can be lost by a full queue, and losing
// every one of them costs time, never truth: the comparison of listing and
// status is repeated until they agree.
//
//	          listing (every 1 s, or 30 s with a healthy stream of events)
//	             │ disagrees with the cache
//	events ──►   ▼                  at most 8 at a time, one per pod,
//	readers ──► pending ──► inspection each with a deadline of its own
//	requests ─►  ▲           │
//	             └─ failed ──┤ 1 s later
//	                         ├──► cache ──► readers
//	                         └──► events ──► subscriptions
//
// # Freshness
//
// Observations are numbered when they begin. Mark returns the newest number;
// NewerThan returns what an observation with a higher number has shown. So a
// reader who takes his mark after he has changed something is never answered
// by an observation that began before. A listing counts as an observation of
// every pod whose cached status it agrees with, and of every pod it does not
// show and nobody has asked for. As a listing may lag, whoever has just acted
// on a pod calls RequestRelist before Mark: from then on only an inspection
// counts. (A listing begun before the request never counts, nor does one while
// an inspection is pending.)
//
// # Delivery
//
// A Subscription holds every changed pod once, with what happened to it merged
// into a set; the newest status is with Get. It cannot overflow and no consumer
// is waited for. Any visible change of a status is announced: as Started, Died
// or Removed by the table, otherwise as PodSync. An unchanged refresh is not.
//
// # Statements kept
//
// B-161 to B-163, B-165, B-167, B-168 (cache); B-172 to B-174, B-176 to B-182, B-184,
// B-185, B-187 to B-190, B-192, B-194 (generic PLEG); B-211, B-212, B-215
// (one writer, events are hints). D-5, D-6. I24, I25, I39, I40, I47, I48, I49. F54,
// F60, F61, F62, F64, F65, F66, F93.
//
// # Differences from the kubelet, and why
//
//   - Freshness is a number, not a time (B-162 to B-164, B-170, B-171, B-208):
//     times of two clocks were compared, and bumped without looking, which
//     started containers twice (#120942, #123087, #124297). "Newer" is strictly
//     higher on every path.
//   - A blocked reader is the request for a look, ends with his context, and
//     gets ErrStopped when nothing will come any more (B-166, B-169, #124704).
//     Waiting readers are answered by an inspection only, deletion included.
//   - An error reaches a reader without a status; Get still shows the last
//     status that could be read, beside the error.
//   - Events are computed from the inspected status, not from the listing
//     (B-175, B-178): a listing that leaves a container out for once would
//     otherwise end it (F60). For the same reason a pod that is missing from a
//     listing is inspected before it is gone (B-182); that is one call more
//     per removed pod.
//   - The old state of the comparison is the cached status, not the previous
//     listing, so a hint that has been followed costs no second inspection and
//     a listing that disagrees for ever is looked into for ever.
//   - Changes go into sets, not into a channel of 1000 (B-186, B-195, B-209,
//     B-210; #72482, #136408), and to any number of subscribers.
//   - A failing inspection is announced once as PodSync, with the error in
//     Get, instead of being silent (B-184, #24819); container events are still
//     withheld until a status could be read. It is tried again after a second.
//   - PodSync also tells of changes that the kubelet's table has no event for,
//     as a created container or an address (B-178, ContainerChanged); an asked
//     for inspection that shows nothing new makes no event (B-187).
//   - Inspections run side by side with a deadline each (B-191; #45419,
//     #93886). Pods that hung last time use at most half of the slots. The
//     loop waits for none of them, nor for a hanging listing.
//   - A pod of which a container has failed is looked at once more, a second later or
//     with the next listing: containerd 1.6 may hear of an OOM kill after the end,
//     and a listing, which shows no reasons, would hide it for good. The reason of a
//     pod that is over is the one that was known when its sandbox had been stopped.
//   - Records that are lost hide no other change: it is told beside them (B-178).
//   - A created container and one of unknown state are one state of the table,
//     as in the kubelet, but a value that does not exist is unknown too and
//     panics nobody (B-177).
//   - A container that was seen to exit stays exited, in events and in the
//     status, whatever an inspection shows later (F61). Sandboxes may become
//     ready again.
//   - Addresses of a pod that has ended are kept for one incarnation of its UID only
//     (B-189).
//   - The stream of events is opened again for ever, with a pause that doubles
//     from 100 ms to 5 s and starts anew after an event or ten seconds of
//     health (B-202, B-203, B-214; #129827). Any event is a hint, its type and
//     its time are not looked at (B-204 to B-207, B-212, B-213). More than ten
//     hints of one pod within a second are followed together.
//   - Subscribers are told of one pod 32 times a second at most, and half as often for
//     each second in which that was not enough, down to once: a runtime that shows
//     another thing each time it is asked is not asked again at once because of that.
//   - The period is the safety net's 30 s only while a stream is healthy and a
//     listing has succeeded since it was opened; otherwise 1 s.
//   - Get says ErrUnobserved where the kubelet's cache gives an empty status
//     for a pod that nobody has looked at yet (1.7): at the start of an agent
//     nothing must follow from that (I47).
//   - There is no RuntimeCache (1.8), which is three seconds old. Pods is the
//     newest listing with every pod inspected since as that has shown it, for
//     with a healthy stream the listing itself may be half a minute old.
//   - Run is called once and ends with its context; a second one is an error
//     (B-196). There are no gauges (B-198): Hooks see every observation.
//   - What a container does within a period is not seen here either, if its record is
//     gone before the period is over (B-197).
//   - A request is skipped for no listing (B-193): who has asked is answered by
//     an inspection.
//   - Watch conditions (B-199) and the ticker of the EventedPLEG (B-208) have no
//     counterpart: NewerThan does what they were for.
package pleg
