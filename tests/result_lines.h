/* result_lines.h - lines of a results file, for tests that read or compare them. */
#ifndef SNAPSIM_RESULT_LINES_H
#define SNAPSIM_RESULT_LINES_H

/* A line of results, with ' for ". */
#define LINE(placement, capacity, seed, hit)                                                       \
    "{'schema':1,'config':{'placement':'" placement                                                \
    "','eviction':'lru:refresh=hit','capacity':'" capacity "','seed':" seed                        \
    "},'trace':{'name':'t','sha256':'00','requests':10},"                                          \
    "'model':{'snapshot_bytes':100,'kv_bytes_per_token':8},"                                       \
    "'result':{'requests':10,'prompt_tokens':1000,'hit_tokens':" hit                               \
    ",'hit_requests':4,'missed_new_tokens':200,'snapshots_taken':7,'peak_bytes':1048576,"          \
    "'hit_ratio':0.5},'digest':'0x" hit "'}\n"
#define FAILED(placement, capacity)                                                                \
    "{'schema':1,'config':{'placement':'" placement "','capacity':'" capacity                      \
    "','seed':1},'error':'it broke'}\n"

#endif
