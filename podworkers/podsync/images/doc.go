// Package images pulls the images of containers and keeps them while they are needed. It
// stands between many pods that need images at once and the runtime.
//
// # Pulls
//
// A caller of Pull waits for the image. Callers that need the same image with the same
// credentials share one pull: the first makes the call under its own context, and its
// result is the answer for all. If it is cancelled, the next caller takes over and keeps
// the place in the queue.
//
//	Pull ──▶ joins the pull of its image ──▶ the pull's turn? ──▶ first of it? ──▶ PullImage ──▶ all answered
//	              └ or makes one, at the end     │ waits            │ waits          │
//	                of the queue                 └─── left: next takes over ◄──────┘ cancelled
//
// At most MaxPulls run at once on the node, and MaxPullsPerRegistry per registry, in order
// of arrival.
//
// # Leases
//
// A Lease keeps an image from being removed between the moment it was found or pulled and
// the moment a container's record refers to it. It names the image as the pod does; AddName
// adds the runtime's name. A caller that removes images does so in a Sweep, which it begins
// before it asks which images are in use:
//
//	lease first:   the Sweep knows it: ErrLeased, and the image stays.
//	removal first: Lease waits for the removal, and the check that follows finds the image missing.
//
// # Names
//
// A name is [host[:port]/]path[:tag][@digest]. One without tag and digest has the tag latest. One
// without a host is of docker.io, and of its library if the path has one part. Aliases returns the
// forms under which two names of one image are equal: a runtime lists images under their whole names
// and pods use short ones.
//
// # Credentials
//
// They come from a Keyring. PullSecrets, the default, reads the Secrets that a pod names, of
// the two docker kinds. All whose location covers the image are tried one by one: the longest path
// first, exact hosts before patterns, then in the order of the Secrets; without any the pull is anonymous. A
// present image is used without checking the pod's credentials: on a node whose pods do not
// trust each other, use the pull policy Always.
//
// github.com/distribution/reference parses names too. It compiles its expressions when a program is
// loaded, and refuses more names than registries do.
package images
