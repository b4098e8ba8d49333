// Package objects follows the ConfigMaps and Secrets that the pods of a node refer to, for as
// long as a pod does: a podsync.Objects over an API server. Services does so with the services
// of the cluster, for the variables of containers, and RuntimeClasses with its runtime classes.
//
//	objects, err := objects.New(objects.Config{Objects: server.Objects(), Changed: sync})
//	go objects.Run(ctx)
//	objects.Keep(pod)        // when the pod is admitted, and when it changes
//	objects.Release(pod.UID) // when it is gone
//
// # The contract
//
//   - Each object that a kept pod names is followed by one watch, from the first pod that
//     names it to the last. An object that is deleted and made again is seen, immutable or not.
//   - ConfigMap and Secret wait for the first complete state, at most FirstRead and as long as
//     their context. After that they never wait: while the server is away they return what it showed
//     last. A missing object is runtime.ErrNotFound.
//   - An object that no kept pod names is read from the server.
//   - Changed is called for each pod that names an object that has changed, or that could not
//     be read before.
package objects
