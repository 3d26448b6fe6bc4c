// Stands for the programs of Pravega on the node of the tests. Each refuses to run without what it depends on: a bookie without
// ZooKeeper, a controller without three bookies, a segment store without three bookies and a controller. They find each other
// through ZooKeeper, as the real ones do. Which one it is, its name says, and for `pravega` the argument.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	ensemble = 3
	// How long somebody is a member who does not say so again.
	lease = 5 * time.Second
)

func main() {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	part := filepath.Base(os.Args[0])
	if part == "pravega" && len(os.Args) == 2 {
		part = os.Args[1]
	}
	switch part {
	case "zookeeper":
		zookeeper()
	case "bookie":
		join("bookies", ":3181")
		// A bookie that can't write is none.
		check(os.WriteFile("/bk/cookie", []byte(os.Getenv("POD_NAME")), 0o600))
		listen(":3181")
	case "bookie-that-hangs":
		// It is there, and does nothing.
	case "controller":
		need("bookies", ensemble)
		join("controllers", ":9090")
		listen(":9090")
	case "segmentstore":
		need("bookies", ensemble)
		need("controllers", 1)
		listen(":12345")
	default:
		check(fmt.Errorf("%s is no program of Pravega", part))
	}
	<-end
}

// zookeeper keeps who is a member of what: PUT /bookies/NAME with an address, GET /bookies for all addresses.
func zookeeper() {
	var mutex sync.Mutex
	type member struct {
		address string
		seen    time.Time
	}
	members := map[string]map[string]member{}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /{of}/{name}", func(w http.ResponseWriter, r *http.Request) {
		address, err := io.ReadAll(io.LimitReader(r.Body, 300))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		mutex.Lock()
		defer mutex.Unlock()
		of := r.PathValue("of")
		if members[of] == nil {
			members[of] = map[string]member{}
		}
		members[of][r.PathValue("name")] = member{string(address), time.Now()}
	})
	mux.HandleFunc("GET /{of}", func(w http.ResponseWriter, r *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		addresses := []string{}
		for _, member := range members[r.PathValue("of")] {
			if time.Since(member.seen) < lease {
				addresses = append(addresses, member.address)
			}
		}
		json.NewEncoder(w).Encode(addresses)
	})
	listener, err := net.Listen("tcp", ":2181")
	check(err)
	go func() { check(http.Serve(listener, mux)) }()
}

// join makes this pod a member for as long as it runs.
func join(of, port string) {
	check(enter(of, port))
	go func() {
		for range time.Tick(lease / 5) {
			if err := enter(of, port); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
	}()
}

func enter(of, port string) error {
	address := strings.NewReader(os.Getenv("POD_IP") + port)
	request, err := http.NewRequest(http.MethodPut, place(of)+"/"+os.Getenv("POD_NAME"), address)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("there is no ZooKeeper: %w", err)
	}
	return response.Body.Close()
}

// need ends the program unless as many members answer.
func need(of string, count int) {
	response, err := client.Get(place(of))
	if err != nil {
		check(fmt.Errorf("there is no ZooKeeper: %w", err))
	}
	defer response.Body.Close()
	var addresses []string
	check(json.NewDecoder(response.Body).Decode(&addresses))
	answering := 0
	for _, address := range addresses {
		if connection, err := net.DialTimeout("tcp", address, time.Second); err == nil {
			connection.Close()
			answering++
		}
	}
	if answering < count {
		check(fmt.Errorf("%d of %d %s answer", answering, count, of))
	}
}

var client = http.Client{Timeout: 2 * time.Second}

func place(of string) string { return "http://" + os.Getenv("ZK_URL") + "/" + of }

func listen(port string) {
	listener, err := net.Listen("tcp", port)
	check(err)
	go func() {
		for {
			connection, err := listener.Accept()
			check(err)
			connection.Close()
		}
	}()
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
