// Package plan decides what to do with a pod and what to say of it. It is
// pure: pod, observed status and time in, actions or a v1.PodStatus out.
//
// Records count for the life (incarnation) and the sandbox they belong to.
// Within a name they are ordered by attempt and only then by time. Records of
// other incarnations are looked at for one thing: a new attempt gets a number that
// none of them has.
//
// # Statements kept
//
// Sandbox: CA-1 to CA-5. Ephemeral containers: CA-6. Init containers and sidecars:
// CA-7 to CA-15. Regular containers: CA-16, CA-17, CA-19, CA-20. Hash: CA-18.
// Restart of all containers: CA-21. Restart policies: PH-2. Grace of a probe: KC-10.
// Pruning: RS-4. Numbers: KC-2. Backoff: the strict comparison of RS-10 against
// times that the caller computes. Phase: PH-1 to PH-10, PH-12, PH-14,
// PH-15; PH-13 is for the caller, between Containers and Conclude.
// Container statuses: CS-1 to CS-8, CS-10 to CS-14. Restart counts: outer 3.7.
// The rows of the outer tables 2 (all but P21 to P23, P29 and P34; the file says where
// those are), 3.1, 3.2, 3.3 and 3.4 are tests.
//
// # Differences from the kubelet
//
//   - A container that was only created has not run. A Never pod whose sandbox
//     was lost before anything ran gets another one (CA-3; kubernetes 141948).
//   - Initialization is tied to the sandbox: records of other sandboxes count
//     for nothing, and those of this one prove it even when they have exited
//     (CA-7; 120247, 120269, 136969). Who asks remembers it besides, so that it
//     outlives the records; the published status, which does not say of which
//     sandbox it speaks, proves nothing.
//   - Whether a pod that has lost its sandbox gets another is for the pod's policy
//     to say, as in the kubelet, and beyond it for the container's own, where that
//     runs more (CA-3 to CA-5): one that ran and may run again is worth one; one
//     that has not run is, unless its policy and the pod's are Never and something
//     of the pod has run that may not run again. What runs when its sandbox is lost
//     is taken to end by a signal. So a container that is Never in a pod that is not
//     starts again in a new sandbox, after its init containers too; in the kubelet
//     only if there are none. An init container that is may have ended with the
//     sandbox, which does not fail the pod; in the kubelet it does.
//   - A regular container under Never whose probe has failed is stopped alone,
//     with the grace of the probe, and the pod ends once it has (CA-20). The
//     kubelet kills the pod at once if it was the last, with the grace of the pod.
//     Neither starts a sidecar any more.
//   - A restart of all containers comes before everything else, a new sandbox
//     included, removes the records of all attempts, and goes on in another
//     sandbox if that is lost meanwhile. What has to run again does so under any
//     policy, also if the agent ended before that was published: the record of
//     the reason goes last, and its published end speaks for it then (CA-21).
//     Ephemeral containers are left as they are. A number that only a container
//     had that was created and never ran is free again after it.
//   - A container in a state that nobody knows is killed and not started again,
//     unless its policy restarts what ends by a signal: it has most likely run. The
//     kubelet starts it again under Never too (CA-16).
//   - What is replaced for what the runtime reports of it, a sandbox that is ready or not
//     or a container that runs, stays as it is until the caller's delay is over.
//   - A created container is removed before the next attempt is made, since a
//     start whose reply was lost might still happen (KC-4); who acts may start it
//     instead, if it is as it would be made.
//   - Attempts order records; times only break ties (CS-1; 135762).
//   - An older sandbox that is ready costs the pod its containers only if it is
//     of the same life and something in it may run (CA-1). One that became ready
//     late, with nothing in it, is removed alone; any other is stopped alone.
//   - The sandboxes of previous incarnations are removed once the pod has one of its own
//     and its containers have higher numbers than they had in those. The kubelet,
//     to which a UID does not come back, leaves them to garbage collection.
//   - Whatever runs outside the current sandbox, the current life or the spec
//     is killed, and so is an older attempt beside a newer one. The kubelet
//     leaves it, or fails to kill it (KC-16). As long as an attempt runs none
//     is begun, whatever the newest record says.
//   - A Never pod that lost its sandbox before all its containers had run is
//     Failed with reason SandboxLost, and not Pending for ever (row P25).
//   - A container without records that was published as ended stays ended if
//     its policy says so, as long as that status is known (8878, 51142).
//   - Init records are not purged when a sandbox is replaced (RS-2): they cannot
//     be mistaken, and they carry the attempt number.
//   - A published terminal phase stays even if another terminal one is computed
//     (PH-9 asks for less): an evicted pod whose containers end with 0 has not
//     succeeded (58711, 88440, 90636). Its first reason stays with it. SandboxLost
//     is no reason of a pod that this node ends: it stops the sandbox itself.
//   - The last end of a container is never older than one that was published,
//     though the record of that is gone and an older one is not.
//   - When a pod is over no container waits for a reason (CS-8): one that was in
//     CrashLoopBackOff shows how it ended.
//   - What the runtime has lost is not forgotten (F67): attempts go on from the
//     published restart count, an end that was published is the last one of the
//     attempt after it, one that waited for its restart has still ended, and the
//     restart of a container that vanished counts whether or not it had ended
//     before (CS-5).
//   - An init container without a record has succeeded if any container after it
//     was made, not only a regular one; so has one whose last record is that of an
//     attempt that failed, in that sandbox or before it (CS-7).
//   - An end of unknown kind, once published, stays an end (CS-4).
//   - The end of an exited container has a beginning, and not after it.
//   - A container without a hash, or with one of an unknown version, is not
//     restarted (23104, 72296).
//   - What runs in the pod's sandbox is what a container is, also if a newer
//     attempt was begun: status and decision agree (CS-1).
//   - The start time of a pod that nobody remembers is that of the oldest sandbox
//     of its life, so that a deadline does not begin anew with the agent (ST-5).
//   - A sidecar that never ran holds a pod up only before a regular container
//     has run in the same sandbox: the pod is not Pending again (PH-3, PH-8).
//   - A container under OnFailure that was told to end for the sake of the next
//     attempt has not succeeded with 0: it waits, and is started again (PH-2, CA-16).
//   - In a new sandbox a pod is Pending until its init containers have done their
//     part there, whatever their records of the sandbox before say. What still
//     runs in an older sandbox counts neither as running nor as ready. The kubelet
//     goes by the newest record of a container, wherever that ran (PH-5).
//   - A container with a probe is started, or ready, as far as that was published
//     of the same container, until the probes are asked; the kubelet carries
//     Started alone (CS-12).
//   - An ephemeral container that was created and never ran is made again, as any
//     other; there, it stays created for ever (CA-6).
//   - A container is not what an older attempt's record says, if the record of the
//     one that was published is gone: that has vanished, or has ended as was said.
//     So it is for Decide, too: an older success does not keep it from running again.
//     The last end of one that vanished is not that of the attempt before it (CS-5).
//   - An ephemeral container that was not made yet waits as ContainerCreating,
//     since it does not wait for the pod to be initialized (CS-2, CA-6).
//   - Ephemeral statuses are in the order of the spec (CS-10).
//   - Resources are told of containers that ask for any, and are those of the spec
//     when the container was first shown: nothing is resized, and the runtime is not
//     asked (CS-11).
//   - All containers begin anew until the first of them has a record again, also
//     when none is left that tells why (CS-14).
package plan
