// Package podsync is the reference PodSyncer. It drives a runtime until a pod is as its spec says, and
// publishes the status of the pod.
//
// # A sync
//
// The pure package plan decides what to do and what to publish. This package does it:
//
//	status ──► publish ──► terminal? ──► decide ──► clean up ──► ready? ──► sandbox ──► init ──► regular
//	             │              └► return                kill, remove               containers, one by one
//	             └──────────────◄─── why a container waits ◄───────────────────────────┘
//
// A sync rolls nothing back. The next sync finds the results of this one in the observed status, and
// continues. FIELDS.md lists the fields of a pod's spec. Unsupported finds the pods that need something
// that the Config of the Syncer does not have, so that admission rejects them.
//
// # Incarnations
//
// Each incarnation of a UID has a number, which is stamped on its sandboxes and containers. Records of
// other incarnations count for attempt numbers only. They are removed when the new incarnation has
// records of its own. A Syncer that sees a UID for the first time adopts the newest records, because it
// may be a restarted agent. It does not adopt them if AnnotationPodHash shows that they were made for
// another pod that was replaced under this UID.
//
// # Cancellation
//
// When a context ends, waits end: for the grace period of a kill, for a pull, for an inspection. Calls
// that create, start or remove something continue until Config.CallTimeout. The next call continues a
// kill that was cut short, with its shorter grace period. A sync holds no slot of the workers while
// containers stop or an image is pulled.
//
// # How a container is stopped
//
//	event ──► preStop ──► its turn ──► signal ··· rest of the grace period ··· kill
//	          └─────────── one deadline, computed once per kill ───────────┘
//
// The deadline is computed in the first call. Retries use the same deadline. A shorter grace period
// moves it forward, and nothing moves it back. At least two seconds are left after the signal. A preStop
// hook runs once per kill, over all retries. When a whole pod stops, sidecars stop after all other
// containers, in reverse order. A failed stop does not block the containers after it. A restarted agent
// starts a kill again, with the whole grace period and the hook. The annotations of a container have
// everything that is needed to stop it, so that an agent can stop a container whose pod it does not know.
//
// # Hooks
//
// A postStart hook runs after the start, for Config.HookTimeout at most, and the next container waits
// for it. Meanwhile the container is published as running and not started. If the hook fails or is cut
// short, the container is killed. The Syncer stops waiting for a hook when its container exits
// (ObservePod). A restarted agent does not repeat a postStart hook.
//
// # Files beside a sync
//
// A call for a pod may hang for minutes: in the runtime, in a hook, in a pull, or in a slow termination.
// Meanwhile RefreshVolumes updates the files of volumes. The pure package internal/refresh decides when:
// after a change that no sync has written within a second, but not in the first seconds of a SetUp and
// not during a TearDown. After a restart of the agent, files of running pods are refreshed before their
// first sync. A lock guards that decision and is not held during calls. The Volumes themselves make
// concurrent calls of SetUp, TearDown and Refresh safe (VolumeRefresher).
//
// # Lost replies
//
// After each failed creation the pod is inspected. An existing sandbox is used. An existing container
// that was not started is started if it is as it would be made now. Otherwise it is removed before its
// next attempt. If nothing is found, the same attempt is repeated, and the runtime refuses it if it
// exists. So a container never runs twice. containerd gives up a start if its caller is gone (code 128,
// reason StartError). This counts and is published as an exit, because the command may have run.
//
// # State outside of the runtime
//
// Config.TerminalStatuses receives the terminal status of a pod as soon as it is published. A restarted
// agent continues from there. Config.ContainerStates receives the probe results of running containers.
// Before a container is stopped for its next attempt, it also receives that fact. Results that improve
// shortly after a save are saved later, without a sync of the pod (DelayedContainerStates).
package podsync
