// Package podsync is the reference PodSyncer: it drives a runtime until a pod is as its spec says. It
// publishes the pod's status.
//
// # A sync
//
// The pure package plan decides what to do and what to publish; this package does it:
//
//	status ──► publish ──► over? ──► decide ──► clean up ──► ready? ──► sandbox ──► init ──► regular
//	             │            └► terminal        kill, remove              containers, one by one
//	             └──────────────◄─── why a container waits ◄───────────────────────────┘
//
// A sync rolls nothing back. The next sync sees what this one began, in the status that it
// is given, and continues. FIELDS.md lists the fields of a pod's spec. Unsupported finds
// the pods that ask for something the Syncer was not given the means for, so that they are
// rejected before they come here.
//
// # Incarnations
//
// Each incarnation of a UID has a number, which is stamped on its sandboxes and containers.
// Records of other incarnations count for attempt numbers only, and are removed once the
// new incarnation has records of its own. The first incarnation that a Syncer sees adopts
// the newest records, as a restarted agent has to, unless AnnotationPodHash shows that they
// were made for another pod that was replaced under this UID.
//
// # Cancellation
//
// The end of a context ends waits: the grace period of a kill, a pull, an inspection. It
// does not cut short a call that creates, starts or removes something; Config.CallTimeout
// bounds those. A kill that was cut short is continued by the next call, with its shorter
// grace period. No slot of the workers is held while containers stop or an image is pulled.
//
// # How a container is stopped
//
//	event ──► preStop ──► its turn ──► signal ··· rest of the grace period ··· kill
//	          └─────────── one deadline, computed once per kill ───────────┘
//
// The deadline is computed at the first call. Retries share it, a shorter grace period
// moves it forward, and nothing moves it back. At least two seconds are left after the
// signal. A preStop hook runs once per kill, over all retries. When a whole pod stops, a
// sidecar's turn comes after all other containers, in reverse order; a failed stop does not
// block the containers after it. An agent that was restarted begins a kill anew, with the
// whole grace period and the hook. What stopping needs stands in the annotations of each
// container, so a container whose pod is not known is stopped as these say.
//
// # Hooks
//
// A postStart hook runs after the start, for Config.HookTimeout at most, and the next
// container waits for it. Meanwhile the container is published as running and not started.
// If the hook fails or is cut short, the container is killed. Neither hook is waited for any
// longer when its container has ended (ObservePod). A restarted agent does not
// repeat a postStart hook.
//
// # Files beside a sync
//
// A call for a pod may hang for minutes: in the runtime, in a hook, in a pull, or because the
// pod ends slowly. RefreshVolumes brings files of volumes up to date meanwhile. The pure package
// internal/refresh decides when: after a change that no sync has brought to the files within a
// second, and neither in the first seconds of a SetUp nor while the volumes are torn down. The
// files of a pod that runs already when the agent begins follow before its first sync. A lock
// guards that decision, and is held during no call. What a SetUp, a TearDown and a refresh do at
// once on disk the Volumes keep apart (VolumeRefresher).
//
// # Lost replies
//
// After each failed call that was to create something the pod is inspected. A sandbox that
// exists is used. A container that exists and was not started is started if it is as it
// would be made now, and removed otherwise, before its next attempt. As long as nothing is
// found, the same attempt is repeated, which the runtime refuses if it exists. So a
// container never runs twice. containerd gives up a start whose caller has gone (code 128,
// reason StartError); that counts as an end, because the command may have run, and is
// published so.
//
// # What is kept beside the runtime
//
// Config.TerminalStatuses receives the terminal status of a pod as soon as it is published.
// A restarted agent continues from there. Config.ContainerStates receives the probe results
// of running containers. It also receives, before the stop, that a container is stopped for its
// next attempt. Results that became better shortly after a save are saved later, without a sync
// of the pod (DelayedContainerStates).
package podsync
