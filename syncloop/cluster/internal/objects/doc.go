// Package objects gets from an API server what the pods of a node refer to.
//
// Objects follows the ConfigMaps and Secrets that pods name: a podsync.Objects. Services follows
// the services of the cluster, for the variables of containers, and RuntimeClasses its runtime
// classes. Claims finds the volumes of persistent volume claims. Tokens gets the tokens of service
// accounts, stores them, and replaces them in time.
//
//	objects, err := objects.New(objects.Config{Objects: server.Objects(), Changed: sync})
//	go objects.Run(ctx)
//	objects.FollowReferences(pod)      // when the pod is admitted, and when it changes
//	objects.Release(pod.UID) // when it is gone
//
// # ConfigMaps and Secrets
//
//   - Each object that a kept pod names is followed by one watch, from the first pod that
//     names it to the last. An object that is deleted and made again is seen, immutable or not.
//   - ConfigMap and Secret wait for the first complete state, at most FirstRead and as long as
//     their context. After that they never wait: while the server is away they return what it showed
//     last. A missing object is runtime.ErrNotFound.
//   - An object that no kept pod names is read from the server.
//   - Changed is called for each pod that names an object that has changed, or that could not
//     be read before.
//
// # Claims
//
//   - The volume of a claim can be used if it is of the kind hostPath or local, the claim and
//     the volume are bound to each other, and the node affinity of the volume selects this
//     node. For any other claim the error names the reason.
//   - A volume with the access mode ReadWriteOncePod belongs to one pod until Forget is called
//     for that pod; another pod gets an error, as in the kubelet.
//   - The claim of an ephemeral volume has to be the pod's own.
//   - A pod that has not been started gets no claim that is being deleted. One that runs keeps
//     it.
//   - An answer stays true for its pod, and costs no further call, until Forget is called:
//     pods are not moved to other volumes. Errors are not kept. The caller's retries are
//     the bound on calls: two per volume and try, three if the volume has a node affinity.
//
// # Tokens
//
//   - A token is bound to the pod by its UID, and is the same until it is to be replaced:
//     after 80 % of its time, or after 24 hours, or up to ten seconds earlier. Its time is
//     counted from the request, so that the server's clock does not matter.
//   - Run replaces each token that is due and calls Changed for its pod, whose next call of
//     Token returns the new one. Without Run a call of Token replaces it.
//   - If the server gives no new one, the old one is returned until it has expired.
//   - One request per token is under way at a time; others wait for its result. A failed
//     request is not repeated for a second, doubled each time, at most 30 s; Retry ends that. A
//     server that does not know the pod yet (NotFound, Forbidden) is asked again at once, for about 2 s.
//   - Forget drops the tokens of a pod that is gone.
package objects
