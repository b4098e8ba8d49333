// Package reconcile decides what becomes of a pod status that somebody hands
// in: what it keeps of the one before it, whether it says anything new, and
// what is said of a pod when nothing of it is known to run any more. It is
// pure: time is an argument, and nothing is remembered.
//
// All functions change the status that is given to be completed, and never
// the one that it is compared with.
//
// Kept: PH-9, ST-5, ST-7 and ST-18 (Complete), ST-3 (Equal), ST-6 (CheckEnds),
// ST-8 (SetReady, SetStarted), ST-9 and the phase of ST-10 (Terminate), ST-16
// (Merge), ST-17 (HoldBack).
//
// # Differences from the kubelet
//
//   - A termination message that is too long is cut between characters, so
//     that it stays valid UTF-8 and what is compared is what arrives. So is the
//     message of a pod, and of a container that waits, at a kilobyte.
//   - Whether a pod had initialized is read off the status that is being
//     terminated, which is the newest, and not off the API server's (139895).
//   - Terminate also takes readiness and "started" from the containers that it
//     gives an end, and sets the pod's conditions accordingly: Ready means
//     running (I28).
//   - A late readiness result is not taken for a container that does not run.
//   - The first reason of a terminal phase stays, whatever phase and reason are
//     handed in later (PH-9, PH-10); the kubelet lets a later eviction replace it.
//   - The fields that others write are those of the pod in every status that is
//     stored, also in that of a pod which was rejected; the kubelet keeps them only
//     where it sends.
//   - The conditions of a terminal phase (ST-18) are set when a status is
//     accepted and not only when it is sent, so that every reader sees them.
package reconcile
