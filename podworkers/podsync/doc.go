// Package podsync is the reference podworkers.PodSyncer: it drives a
// runtime.Runtime until a pod is as its spec says, and says how it is.
//
// # How a sync goes
//
// What to do, and what to say, is decided by the pure package plan;
// this package does it:
//
//	status ──► publish ──► over? ──► decide ──► clean up ──► ready? ──► sandbox ──► init ──► regular
//	             │            └► terminal        kill, remove           containers, one by one
//	             └─────────────◄─── why a container waits ◄────────────────────────┘
//
// A sync takes nothing back. What it has begun is seen by the next one, in the
// status that podworkers hands it, and continued.
//
// # Lives
//
// A UID may come back. Each life of it has a number, stamped on its sandboxes
// and containers; records of other incarnations give attempt numbers and nothing
// else, and are removed once the new incarnation has its own. The first incarnation that a
// Syncer sees takes up the newest with records, as an agent does that was
// started again, unless AnnotationPodHash tells that these were made for a pod
// of another hash, which was replaced under its UID meanwhile. See Forget for
// what is remembered.
//
// # Cancellation
//
// The end of a context ends waits: the grace of a kill, a pull, a look. Creating,
// starting and removing is not cut short, but bounded by Config.CallTimeout: half
// done it would have to be looked for, and containerd turns a cancelled start
// into a container that failed. A kill that is cut short is taken over by the
// next call, with its shorter grace. No slot of the workers (MaxSyncs) is held
// while containers are given time to end, or an image is pulled.
//
// # How a container is stopped
//
//	event ──► preStop ──► its turn ──► signal ··· what is left of the grace ··· kill
//	          └──────────── one deadline, computed once per kill ──────────┘
//
// The deadline of a kill is that of its first call: retries share it, a shorter
// grace moves it forward, and nothing moves it back (I6, I7). All that comes
// before the signal ends with it, and with the call; then there are two seconds
// at least (KC-13). A preStop hook is run once per kill, over all calls (I32): who
// was told does not need to be told again. The turn is that of sidecars, when a
// whole pod ends: after all other containers, the last one first (I33). A stop
// that has failed has had its turn.
//
// A kill is remembered by the ID of its container until this has ended, or need
// not end any more. An agent that was started again begins the kill anew, with the
// whole grace and the hook: neither could be written down anywhere but outside.
//
// What stopping needs is written into the annotations of a container when it is
// made. If its pod is not known any more, or is another one of the same UID, it is
// stopped as these say (KC-15).
//
// # PostStart
//
// A postStart hook is run after the start; the containers after it wait for it,
// for Config.HookTimeout at most, but that the container runs is shown before, as
// one that has not started and is not ready. It is not probed until then. If
// the hook fails the container is killed, and not left alone until it has ended.
// If it was cut short, and the pod goes on after all, the container is killed too:
// nobody knows what the hook has done. What is known of it is not known to an agent
// that was started again: it takes a container that runs for one that was welcome.
//
// # Ports
//
// A sandbox publishes the host ports of sidecars and of regular containers: of
// what is there as long as the pod is. Those of ordinary init containers are not.
//
// # Names
//
// What a pod resolves names with is settled when its sandbox is made, from its
// policy, the cluster and the host (Resolver), the host's as it is at that moment.
// A host whose configuration cannot be read gets no sandbox for a pod that goes by
// it, and is asked again.
//
// # Ends
//
// That a pod is over, by itself or because it was evicted or was active for too
// long, is handed to Config.TerminalStatuses as soon as it is published, and so before the
// pod is killed for it: an agent that is killed in between leaves the next one to go
// on with it. A pod that is only stopped is not over. An incarnation that is seen to go on
// drops what was kept of the one before. PodHash tells whether a pod can be the one
// that has ended.
//
// # What is kept of containers
//
// What probes have said of a container that runs, and that one was told to end for
// the sake of the next attempt, is handed to Config.ContainerStates: neither is in the
// records of a runtime. The first sync pass of an agent that was started again gives
// probes the former, so that what is ready stays so until its probe says otherwise;
// another container, by its ID or its start, inherits nothing. The latter is kept
// before the container is told, so that a success which this node has brought about
// is none, whenever the agent is killed. It is the only place of it: statuses say how
// the container ended, and annotations are those it was made with.
//
// # Calls whose reply was lost
//
// The pod is looked at after each call that was to make something and has failed; if
// there is what it was to make, the next try comes soon. The fresh status shows what
// became of them. A sandbox is used; a container
// that was created is started, if it is as it would be made, since the runtime
// then sees to it that nobody else has started it since it was looked at; any
// other, and one that the runtime would not start, is removed, and seen to be gone,
// before its next attempt is made, and is not removed if it has run after all; one
// that runs is left to run. As long as nothing is seen the same
// attempt is made again, which the runtime refuses if it exists. There are never
// two.
//
// A start whose caller has gone, as an agent that is killed, is given up by
// containerd: the record says that it has ended, with code 128, reason StartError and
// no time of a start. It counts as an end like any other, as for the kubelet
// (kubernetes#14491), so a Never pod has Failed. It is not tried again, though that
// would look better: of 127 starts given up at a random moment, 2.4.2 and 1.6 alike,
// 11 had run their command to its end and had the same record as those that had not.
// What must not run twice cannot be started a second time on such a word.
//
// # Statements kept
//
// SyncPod: SP-1 to SP-4, SP-10 to SP-13, SL-31. Ends: SP-15 to SP-21, SP-23, SP-24.
// Order and results: RS-1 to RS-8, RS-14. Backoff: RS-9 to RS-13, IM-4, IM-5. Containers:
// KC-1 to KC-15 (KC-2 with Config.Logs). Kills: TO-1 to TO-8, I6, I7, I32, I33. Images: IM-1, IM-2, IM-4 to IM-8.
// What a Syncer has not been given the means for is not run: Unsupported finds the
// pods that ask for it, so that they are refused before they come here.
//
// # Differences from the kubelet
//
//   - Pods have no cgroups: requests and limits are those of containers. Where a
//     pod limits itself as a whole, each container without a limit of its own has
//     the pod's, and nothing bounds their sum.
//   - A container under OnFailure that this node ends, since its probe or its
//     postStart hook has failed or its image has changed, is started again whatever
//     its exit code is; there, one that ends with 0 while it is in its crash loop
//     makes a pod Succeeded.
//   - There is no list of safe sysctls: what the kernel keeps apart for a pod may
//     be set, and what it does not fails in the runtime.
//   - Why a container waits is published at once, not with the next sync (SP-3): as
//     that comes when the backoff is over, nobody would see CrashLoopBackOff.
//   - A container that comes to its end while it is being replaced waits, as it is
//     shown, until it is started: there would be no way back from its end (ST-6).
//   - Of the paths that are hidden from a container the thermal counters of each
//     processor are missing: how many there are is not known here.
//   - A group without a user is not asked of a sandbox, as runtimes refuse it.
//   - The runtime is asked whether it and its network are ready only before
//     something is started; a pod that runs is not in error because a network
//     is down (SP-4). Where nothing runs, tidying up before a new sandbox waits
//     for the answer too.
//   - A runtime that says "stopped" is not believed: after each kill the pod is
//     looked at, in SyncPod too, and what was stopped and still runs gets no
//     grace next time; a sandbox that is still ready keeps the pod from having
//     ended (SP-18, F58).
//   - A container that vanished is looked for once more before it is started
//     again (F60). One that was started, as far as is known, has vanished too if its
//     record is lost before that was published: it has run (F67).
//   - A kill can be cut short (SP-16), as stopping is idempotent: that is how a
//     shorter grace takes effect at once.
//   - A preStop hook ends with its time, and with a grace that is shortened; the
//     time it took is subtracted to the last moment, not in whole seconds (KC-12).
//   - A postStart hook has a bound (KC-5), and that its container runs is published
//     before it. People are told of hooks that took too long, too.
//   - A sidecar waits for ordinary init containers that run, as it does for regular
//     ones, and for those that are not in the spec any more; it may be what they
//     need (TO-7). It does not wait for ephemeral ones, as there.
//   - An orphan is stopped with its own grace, hooks and order if its records tell
//     them; one second is for those that do not (SP-21). A container that the
//     pod does not have is stopped by its own record, not an error (KC-16).
//   - What a pod says itself under the names of our annotations is not believed.
//   - A path of an http hook cannot name another host, and a pod without an address
//     makes the hook fail.
//   - A record that never ran and was removed is looked for before the next
//     attempt is made: its start may be under way (I37).
//   - A crash-loop delay counts from the end as it was first seen, on our own
//     clock, and outlives the record: neither an end in the future nor one that
//     was lost changes it (RS-10, F67, F79).
//   - What was created and never ran is removed when its pod ends: a late start
//     finds nothing.
//   - A start that fails and leaves the record created is an attempt: it counts for the
//     crash loop, and so does any start of a container that was started before and is
//     not shown. No delay begins before the last start. The kubelet tries at once
//     whenever the runtime shows a change (CA-16, RS-9).
//   - A sandbox, or a container that runs, that is replaced because of what the runtime
//     reports of it waits for a delay that grows as that of a crash loop, and is left as
//     it is until then; the first replacement comes at once. An event RuntimeMismatch
//     and a line of the log name the field, once (CA-1, CA-17).
//   - Kills that fail are tried again after 10, 20, 40 and 60 seconds. A deletion, or
//     another change of what is wanted, does not wait (TO-2).
//   - An orphan of which the runtime cannot tell whether it runs is not forgotten.
//   - An orphan is looked up before it is killed; the list it was found in may
//     be old (SP-21).
//   - A BackOff is told once for each wait, however often the pod is looked at, and
//     a failed step once; there, by each sync, and a failed pull or inspection by a
//     second event, which says no more.
//   - Why a pull has failed is what the runtime's error is, not how its text begins
//     (IM-5).
//   - Secrets to pull with are read before a pull, not in each sync.
//   - A pull ends with its sync (IM-7) or after Config.PullTimeout, and its
//     failure says when to come back.
//   - The reasons why containers wait are kept per pod and go with it, not in a
//     cache of a thousand (SP-11).
//   - Old init records are pruned, not purged, when a sandbox is replaced (RS-2).
//   - What kept the termination message of a container from being read is published, and
//     they are looked for again; there, the error is the last word (KC-9).
//   - A termination message path that is not set is the default one (KC-8).
package podsync
