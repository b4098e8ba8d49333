// Package objects reads from an API server the objects that the pods of a node refer to.
//
// Objects follows the ConfigMaps and Secrets of pods: a podsync.Objects. Services follows the services of the
// cluster, for environment variables, and RuntimeClasses its runtime classes. Claims looks up the volumes of
// persistent volume claims. Tokens requests tokens of service accounts, stores them, and replaces them in time.
//
//	objects, err := objects.New(objects.Config{Objects: server.Objects(), Changed: sync})
//	go objects.Run(ctx)
//	objects.FollowReferences(pod) // when the pod is admitted, and when it changes
//	objects.Release(pod.UID)      // when the pod is gone
//
// # ConfigMaps and Secrets
//
//   - One watch follows each object, from the first followed pod that refers to it to the last. The watch also
//     shows an object that was deleted and created again, immutable or not.
//   - ConfigMap and Secret wait for the first complete state, at most FirstRead and until their context is
//     done. Afterwards they never wait: during an outage they return the last known object. A missing object is
//     runtime.ErrNotFound.
//   - If no followed pod refers to an object, each call reads it from the server.
//   - Changed is called for each pod that refers to a changed object, or to an object that could not be read
//     before.
//
// # Claims
//
//   - A pod can use the volume of a claim if the volume is of kind hostPath or local, the claim and the volume
//     are bound to each other, and the node affinity of the volume matches this node. Otherwise the error
//     gives the reason.
//   - A volume with access mode ReadWriteOncePod belongs to one pod until Forget is called for that pod.
//     Another pod gets an error, as in the kubelet.
//   - The claim of an ephemeral volume must be owned by the pod.
//   - A pending pod gets no claim that is being deleted. A running pod keeps it.
//   - A result stays valid for its pod without further calls until Forget, because pods do not change volumes.
//     Errors are not stored. The caller's retries bound the calls: two per volume and attempt, three if the
//     volume has a node affinity.
//
// # Tokens
//
//   - A token is bound to the pod by its UID. Token returns the same token until it is due for replacement:
//     after 80 % of its lifetime or 24 hours, minus up to ten random seconds. The lifetime counts from the
//     request, so that the server's clock does not matter.
//   - Run replaces each due token and calls Changed for its pod. The pod's next call of Token returns the new
//     token. Without Run, a call of Token replaces it.
//   - If the server grants no new token, the old one is returned until it has expired.
//   - Only one request per token runs at a time; other callers wait for its result. A failed request is
//     repeated after one second, doubled each time, at most 30 s; Retry ends the pause. If the server does
//     not know the pod yet (NotFound, Forbidden), the request is repeated quickly, for about 2 s.
//   - Forget removes the tokens of a pod that is gone.
package objects
