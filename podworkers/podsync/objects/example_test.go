package objects_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/objects"
)

// A ConfigMap as a directory with a file for each key.
func ExampleNewFiles() {
	dir, _ := os.MkdirTemp("", "objects")
	defer os.RemoveAll(dir)
	at := filepath.Join(dir, "configmaps", "default", "web")
	_ = os.MkdirAll(at, 0o755)
	_ = os.WriteFile(filepath.Join(at, "LEVEL"), []byte("debug"), 0o644)

	files, err := objects.NewFiles(dir)
	if err != nil {
		panic(err)
	}
	m, err := files.ConfigMap(context.Background(), "default", "web")
	fmt.Println(m.Data, err)
	_, err = files.Secret(context.Background(), "default", "web")
	fmt.Println(err != nil)
	// Output:
	// map[LEVEL:debug] <nil>
	// true
}

// Objects that a host program has from elsewhere.
func ExampleNewMap() {
	m := objects.NewMap()
	config := &v1.ConfigMap{Data: map[string]string{"LEVEL": "debug"}}
	config.Namespace, config.Name = "default", "web"
	m.ApplyConfigMap(config)
	found, err := m.ConfigMap(context.Background(), "default", "web")
	fmt.Println(found.Data["LEVEL"], err)
	m.DeleteConfigMap("default", "web")
	_, err = m.ConfigMap(context.Background(), "default", "web")
	fmt.Println(err)
	// Output:
	// debug <nil>
	// objects: ConfigMap default/web: runtime: not found
}
