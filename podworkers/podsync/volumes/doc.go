// Package volumes keeps the volumes of pods, and the files that belong to them, in a directory of the
// host.
//
//	<root>/pods/<uid>/volumes/<name>                emptyDir, configMap, secret, ...
//	<root>/pods/<uid>/subpaths/<container>/<index>  a part of a volume, pinned
//	<root>/pods/<uid>/containers/<name>/<attempt>   termination messages
//	<root>/pods/<uid>/etc-hosts                     the hosts file
//	<root>/pods/<uid>/owner                         the pod's namespace and name
//	<root>/pods/.trash/<uid>~...                    what is being removed
//
// The pure package internal/volume decides which volumes are supported. Package
// volumes/inmemory is for runtimes without a disk.
//
// # The contract
//
// A Dir is a podsync.Volumes and a podsync.Files. It remembers nothing and continues from
// what is on disk. SetUp and Mounts of one pod are called one at a time; Refresh, TearDown,
// Remove and Sweep at any time. Only the agent may write to the root.
//
// # Removing
//
// TearDown and Remove rename the directory of the pod before they unmount and remove
// anything. A new pod with the same UID gets a new directory. Remove asks whether the pod
// is gone under the lock that SetUp takes. A removal crosses no mount: it stops there with
// osfile.ErrMount, and the host's files stay. Sweep continues what a crash has cut short. A
// directory belongs to the pod that it was made for: another pod with the same UID and
// another name does not see it.
//
// # Links
//
// Everything below the root is written and removed through an os.Root, which no link
// leaves. What must be a directory is opened as one or not at all: a pipe or a device in
// its place is an error. Termination messages are opened without following links and
// without waiting, and read only if they are regular files.
//
// A subPath may have links that stay in the volume. The file or directory that it leads to
// is opened and mounted by its number, so a container that changes the path afterwards
// changes nothing. Where mounting is not permitted, that is an error. Volumes that only the
// agent writes need no mount.
//
// # Files of volumes
//
// The files of a configMap, secret, downwardAPI or projected volume are written to a new
// directory, and then a link is turned to it: a reader sees the old files or the new ones.
// SetUp does so when the files differ, unless all their objects are immutable. A subPath
// keeps the files that were there when its container was made.
//
// Refresh does so too, beside all other methods. It and SetUp read objects without a lock, and
// write under the lock of the UID. Each read has a number: what was read earlier is not written
// over what was read later. Refresh makes no directory, and TearDown renames under the same
// lock, so nothing is left behind for a pod that is gone.
//
// With Config.SecretsInMemory those files are in a tmpfs, but for ConfigMaps: TearDown unmounts it.
//
// A local volume of a claim, and all in it, is given to the group of the pod's fsGroup before
// containers start, unless it may only be read or its directory has that group already: the
// directory comes last, so it has the group only when all in it has. This is the kubelet's
// fsGroupChangePolicy OnRootMismatch, whichever the pod asks for; the setuid bit of files is
// not kept. What is mounted in the volume stays as it is, and a path of more than 4096 bytes,
// which no program can use, is an error.
//
// A volume in memory, a subPath of an emptyDir or hostPath, and an fsGroup that the agent
// does not belong to need root, the first two also Linux. Each is a clear error otherwise.
//
// Of /proc/self/mountinfo one field is read. k8s.io/mount-utils, which parses all of it, would mount
// by running the program mount.
package volumes
