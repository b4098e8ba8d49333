// Package images pulls the images of containers and protects them while they are needed. It is between
// many pods that need images at the same time and the runtime.
//
// # Pulls
//
// A caller of Pull waits for the image. Callers that need the same image with the same credentials
// share one pull. The first caller makes the call under its own context, and all callers get its
// result. If the first caller is cancelled, the next one continues and keeps the place in the queue.
//
//	Pull ──▶ joins the pull of its image ──▶ left the queue? ──▶ first caller? ──▶ PullImage ──▶ result for all
//	              └ or adds one to the end        │ waits             │ waits          │
//	                of the queue                  └── next continues ◄────────────────┘ cancelled
//
// At most MaxPulls run at the same time on the node, and MaxPullsPerRegistry per registry, in order of
// arrival.
//
// # Leases
//
// A Lease protects an image from removal between its inspection or pull and the creation of a container
// that refers to it. It has the name that the pod uses. AddName adds the reference of the runtime. A
// caller that removes images uses a Sweep, and begins it before it lists the images in use:
//
//	lease first:   Remove returns ErrLeased, and the image stays.
//	removal first: Lease waits for the removal, and the inspection that follows does not find the image.
//
// # Names
//
// A name is [host[:port]/]path[:tag][@digest]. A name without tag and digest has the tag latest. A name
// without a host is in docker.io, and in its library if the path has one part. Aliases returns the
// forms under which two names of one image are equal, because a runtime lists images by their full
// names and pods use short ones.
//
// # Credentials
//
// Credentials come from a Keyring. PullSecrets, the default, reads the Secrets that a pod names, of the
// two docker types. All credentials whose location matches the image are tried one by one: the longest
// path first, exact hosts before patterns, then in the order of the Secrets. Without credentials the
// pull is anonymous. A present image is used without a check of the pod's credentials. On a node whose
// pods do not trust each other, use the pull policy Always.
//
// github.com/distribution/reference parses names too. It compiles its expressions when a program is
// loaded, and rejects more names than registries do.
package images
