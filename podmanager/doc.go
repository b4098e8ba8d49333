// Package podmanager knows which pods this node has been told to run, and
// which of the API server's pods are only mirrors of them.
//
// It is the truth about desire: whoever decides something about a pod asks
// here what is wanted now. It decides nothing, waits for nothing and starts
// nothing.
//
// # Three kinds of pods
//
//   - An ordinary pod comes from the API server, or from the host program in
//     its place.
//   - A static pod comes from anywhere else. The API server does not know it.
//   - A mirror pod is what the API server shows of a static pod. It is never
//     run; it has the static pod's full name and a UID of its own. Its UID is
//     translated to that of the pod it stands for, and the two types
//     ResolvedPodUID and MirrorPodUID keep them apart.
//
// # The contract
//
//   - Pods and mirrors are kept apart, by UID and by full name. No answer about
//     pods ever holds a mirror. [B-151]
//   - A mirror and its pod find each other by full name, in whatever order
//     they arrive. [B-152]
//   - A mirror that goes takes its UID, name and translation with it. [B-154]
//   - A pod that goes leaves its mirror an orphan, which is reported by full
//     name. [B-155]
//   - A static pod without a mirror translates to "". [B-158]
//   - An orphan is judged by full name only: any pod of that name hides it.
//     [B-159]
//   - Pods are stored as given and handed out as stored, without a copy: who
//     gives one to a Store, or gets one from it, does not change it any more.
//     [B-160]
//   - A call with a nil pod changes nothing and finds nothing.
//
// # Differences from the kubelet
//
// Translations are not stored but read off the two name indexes, so none can
// be stale. With it three defects are gone:
//
//   - A mirror that replaces another of the same full name leaves nothing of
//     it behind; the API server has only one pod of a name at a time. In the
//     kubelet the old UID stays, with its translation, until its own removal
//     is seen (B-153).
//   - Removing a pod ends the translation to it. In the kubelet a mirror UID
//     goes on being translated to a pod that is gone (B-156).
//   - Removing a pod ends the entry of its full name only if that is its own;
//     if an older pod of the name is still there, the name is that one's again.
//     In the kubelet removing the old of two pods makes the new one invisible
//     by name, and its mirror an orphan to be deleted (B-157).
//
// And:
//
//   - Lists are in order of arrival, which an update does not change; in the
//     kubelet their order is random (B-160). Nothing that is done for each pod
//     depends on a map's order here.
//   - A UID is one pod. If its annotations turn it from a mirror into a pod or
//     back, or change its name, nothing of what it was stays indexed.
package podmanager
