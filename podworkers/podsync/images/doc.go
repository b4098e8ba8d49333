// Package images brings the images of containers to the machine and keeps them
// there as long as they are needed. It stands between many pods that want
// images at once and the runtime.
//
// # Pulls
//
// Whoever calls Pull waits for the image. Those who want the same image with
// the same credentials share one pull: the first of them makes the call, under
// its own context, and what comes of it is the answer for all. One that is
// cancelled leaves, and the next in order takes over; nobody's pull ends for
// another's cancellation.
//
//	Pull ──▶ joins the pull of its image ──▶ the pull's turn? ──▶ first of it? ──▶ PullImage ──▶ all answered
//	              └ or makes one, at the end     │ waits            │ waits          │
//	                of the queue                 └──── left: next takes over ◄──────┘ cancelled
//
// At most MaxPulls are made at once on the node, and MaxPullsPerRegistry of
// one registry, in order of arrival: a registry that hangs leaves room for the
// others. A pull keeps its place when another caller takes it over.
//
// # Leases
//
// A Lease keeps an image from being removed between the moment somebody has
// seen that it is there, or has pulled it, and the moment a container's record
// says that it is in use. It names the image as the pod does; Hold adds what
// the runtime calls it. Who removes images does so in a Sweep, which is begun
// before it looks for what is in use:
//
//	lease first:  the Sweep knows it, or has seen it come: ErrLeased, the image stays.
//	removal first: Lease waits for its end, and the look that follows shows that it is gone.
//	               Hold, of another name for it, waits as well and says that a new look is needed.
//
// # Credentials
//
// They come from a Keyring. PullSecrets, the default, reads the Secrets that a
// pod names, and gives all that cover the image; they are tried one by one, and
// if there are none the pull is anonymous.
//
// # Statements kept
//
// IM-1, and of IM-6 the parallel mode. Of part 4: 38 (an image that was just
// pulled is not removed), 39 (pulls are parallel).
//
// # Differences from the kubelet
//
//   - Pulls are never one at a time for the whole node, and there is no rate in
//     pulls per second: what is bounded is how many there are at once, also per
//     registry.
//   - Two pods that want one image make one pull of it.
//   - A present image is used without asking whether the pod's credentials
//     would have got it (IM-3): a node whose pods do not
//     trust each other wants the pull policy Always.
package images
