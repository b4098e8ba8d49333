// Package volumes keeps the volumes of pods, and the single files that belong to
// them, in a directory of the host.
//
//	<root>/pods/<uid>/volumes/<name>                emptyDir, configMap, secret, ...
//	<root>/pods/<uid>/subpaths/<container>/<index>  a part of a volume, pinned
//	<root>/pods/<uid>/containers/<name>/<attempt>   termination logs
//	<root>/pods/<uid>/etc-hosts                     the hosts file
//	<root>/pods/<uid>/owner                         the pod's namespace and name
//	<root>/pods/.trash/<uid>~...                    what is being removed
//
// What can be had, and what is wrong with the rest, is decided by the pure
// package internal/volume; package volumes/inmemory is for runtimes without a disk.
//
// # Contract
//
// A Dir is a podsync.Volumes and a podsync.Files. It remembers nothing: what is
// on the disk tells it what has been done, so that it goes on where an agent has
// ended, at whatever point. SetUp and Mounts of one pod are called one at a time;
// TearDown, Remove and Sweep at any time. Nobody but the agent may write to the root.
//
// # Removing
//
// TearDown and Remove rename the directory of the pod before they unmount and remove
// anything. A pod that comes under the same UID gets a new directory, also while the
// former one is still being removed. Remove asks whether the pod is gone under the
// lock that SetUp takes, too, but neither a removal nor a fetch of objects is under it.
// A removal crosses no mount, however late that was made: it stops there, with an error
// that is osfile.ErrMount, and the host's files stay. Where the kernel does not tell
// mounts apart nothing is removed (package internal/osfile). Sweep goes on with what a
// crash has cut short, and counts what is left.
//
// A directory belongs to the pod that it was made for: another one with the same UID
// and another name does not see it, whenever it comes.
//
// # Nothing is followed
//
// All that is written and removed below the root goes through an os.Root, which
// no link leads out of, and the directories of ours are opened one element at a
// time. What must be a directory, as a hostPath with a subPath, is opened as one or
// not at all: a FIFO or a device in its place is an error. Containers write into
// volumes; nothing there is opened by us but for a subPath. Termination logs, into
// which containers write too, are opened without following a link, without waiting,
// and read only if they are regular files (F31, F95).
//
// A subPath may have links, as long as they stay in the volume (F28). What it
// leads to is opened, and this very file or directory is mounted at a place of
// ours, by its number and not by its name. A container that changes the path
// afterwards, even before the runtime looks, changes nothing. Where mounting is
// not permitted, that is an error. The volumes that only we write to need no
// mount: there, the path with all its links resolved is as good.
//
// # Files
//
// Those of a configMap, secret, downwardAPI or projected volume are written to a
// directory of their own, and then a link is turned to it: readers see the old
// files or the new ones, never a mixture. SetUp does so whenever the files are
// others than before, unless all their objects are immutable. Readers of a
// subPath see what was there when their container was made.
//
// # Rights
//
// Only a volume in memory, a subPath of an emptyDir or hostPath, and an fsGroup
// that the agent is no member of need root, and the first two Linux. Each is a
// clear error where it cannot be had.
//
// # Statements kept
//
// KC-8, KC-9, SP-22 (TearDown), SP-24 (Pods tells what there is). F10, F28, F31, F95.
//
// # Differences from the kubelet
//
//   - The limit of an emptyDir of disk is not watched: nobody evicts. One in memory
//     is bounded by its limit and the memory of the node.
//   - A hostPath with a subPath, and what is mounted below it on the host: these
//     mounts do not show.
//   - Of the termination logs of a container the ten newest are kept; there, all
//     of them, until the pod goes.
//   - A hosts file says podkeel, where it says who has written it.
package volumes
