// Package podsync is the reference PodSyncer. It drives a runtime until a pod is as its spec says, and
// publishes the status of the pod.
//
// # A sync
//
// The pure package plan decides what to do and what to publish. SyncPod does it, and rolls nothing back.
// Each call continues from the observed status:
//
//  1. If a container that was published as running has no record, inspect the pod again.
//  2. Stop each container whose postStart hook was cut short.
//  3. Publish the status. Return if the pod is terminal or its activeDeadlineSeconds are over.
//  4. Decide. If there is nothing to do, set up the cgroup and the volumes, and return.
//  5. Stop and remove containers and sandboxes.
//  6. Set up the cgroup of the pod, and update running containers whose resources have changed.
//  7. Check that the runtime is ready. If no container runs and the pod needs a sandbox, this check comes
//     before step 5. Then set up the volumes, create the log directory and, if needed, a sandbox.
//  8. Start containers, one by one: pull, create, start, postStart hook. Ephemeral containers come first.
//     Regular containers start in a later sync than an init container that runs to completion.
//  9. Publish again if the waiting reason of a container has changed, or a container was updated.
//
// FIELDS.md lists the fields of a pod's spec, and RULES.md the rules whose ids comments and tests cite.
// Admission calls Unsupported for the fields of a pod that this Config of the Syncer cannot honour.
//
// # Incarnations
//
// A record is a sandbox or container in the status that the runtime returns. An incarnation is one pod
// under a UID. Its number is stamped on its records. Records of previous incarnations count for attempt
// numbers. Their running containers are stopped. A sandbox of a previous incarnation is removed when
// newer records have higher attempts, or earlier if its volumes are in the way. A Syncer that sees a UID
// for the first time adopts the newest records, because an earlier process, that is, the agent before its
// restart, may have created them. It does not adopt them if AnnotationPodHash shows that the pod was
// replaced under its UID. A pod that only the runtime knows is an orphan.
//
// # Cancellation
//
// When a context ends, waits end: for a grace period, for a pull, for an inspection. Calls that create,
// start or remove something continue until Config.CallTimeout. The next call continues a stop that was
// cut short. A sync gives back its slot, one of the workers' limited number of concurrent syncs, while
// containers stop, an image is pulled or a postStart hook runs.
//
// # How a container is stopped
//
//	event ──► preStop ──► its turn ──► stop signal ··· rest of the grace period ··· SIGKILL
//
// All of it has one deadline, which the first call computes. A shorter grace period makes the deadline
// earlier. Nothing makes it later. After the signal a container has at least two seconds, or none if it
// still runs after the runtime reported it as stopped. A preStop hook runs once per stop, over all
// retries. When a whole pod stops, sidecars stop in reverse order after all other containers except
// ephemeral ones, but do not wait longer than their deadline. A failed stop does not block other
// containers. A restarted agent begins a stop again, with the whole grace period and the hook. It stops an
// orphan by the annotations of the containers: hook, ports, stop order and grace period.
//
// # Hooks
//
// A postStart hook runs after the start, for Config.HookTimeout at most, and the next container waits
// for it. Meanwhile the container is published as running, with Started false. If the hook fails or is
// cut short, the container is stopped. The wait for a hook ends when its container exits (ObservePod). A
// restarted agent does not repeat a postStart hook.
//
// # Volume files, lost replies and restarts
//
// A call for a pod may hang for minutes. Meanwhile RefreshVolumes updates the files of volumes that
// VolumesChanged was called for, unless a sync does so within a second. Package internal/refresh decides when.
//
// After a failed creation whose outcome is unknown, the pod is inspected. An existing sandbox is used. An
// existing container that was not started is started if it is as it would be created now, and is removed
// otherwise. If nothing is found, the same attempt is repeated, and the runtime refuses it if it exists.
// So a container never runs twice. Some runtimes, for example containerd, cancel a start whose caller is
// gone, and report code 128. This is published as an exit, because the command may have run.
//
// If a pod becomes terminal, Config.TerminalStatuses stores that status for a restarted agent. It stores
// nothing for a pod that stops for another reason, such as a deletion or a drain. Config.ContainerStates
// stores probe results, and, before a regular container with restart policy OnFailure is stopped for its
// next attempt, that fact. Improved results may be saved later, without a sync (DelayedContainerStates).
package podsync
